use std::{fmt, time::Duration};

/// Why the settings of a layer or of a policy cannot work.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub struct InvalidPolicy {
    rule: Option<Box<str>>,
    problem: Problem,
}

impl InvalidPolicy {
    /// In the policy of this rule.
    pub(super) fn of(rule: &str, problem: Problem) -> Self {
        Self {
            rule: Some(rule.into()),
            problem,
        }
    }

    /// Which settings, and why.
    #[must_use]
    pub fn problem(&self) -> Problem {
        self.problem
    }
}

impl From<Problem> for InvalidPolicy {
    fn from(problem: Problem) -> Self {
        Self {
            rule: None,
            problem,
        }
    }
}

impl fmt::Display for InvalidPolicy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.rule {
            Some(rule) => write!(f, "in the policy for {rule}: {}", self.problem),
            None => self.problem.fmt(f),
        }
    }
}

/// A setting that cannot work, or two settings that contradict each other.
#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum Problem {
    /// No attempt could succeed.
    #[error("`attempt_timeout` is zero: give an attempt some time")]
    ZeroAttemptTimeout,
    /// No attempt could succeed.
    #[error("`ceiling` is zero: give an attempt some time")]
    ZeroCeiling,
    /// No call could succeed.
    #[error("`deadline` is zero: give calls some time, or use `no_deadline`")]
    ZeroDeadline,
    /// No call could be repeated.
    #[error("`retry_window` is zero: give repeats some time, or set `max_attempts` to 1")]
    ZeroRetryWindow,
    /// No attempt would be made.
    #[error("`max_attempts` is 0: a call is made at least once, and 1 means no repeat")]
    NoAttempts,
    /// The call would end before the attempt.
    #[error(
        "`attempt_timeout` ({limit:?}) is longer than `deadline` ({deadline:?}), the limit of the \
         whole call: raise the deadline, or lower the attempt timeout"
    )]
    AttemptBeyondDeadline {
        /// The limit of an attempt.
        limit: Duration,
        /// The limit of the whole call.
        deadline: Duration,
    },
    /// The ceiling would end the attempt first.
    #[error(
        "`attempt_timeout` ({limit:?}) is longer than `ceiling` ({ceiling:?}), the longest that an \
         attempt may take with progress: raise the ceiling, or lower the attempt timeout"
    )]
    AttemptBeyondCeiling {
        /// The limit of an attempt.
        limit: Duration,
        /// The longest that it may take with progress.
        ceiling: Duration,
    },
    /// The ceiling would end the call first.
    #[error(
        "`deadline` ({deadline:?}) is longer than `ceiling` ({ceiling:?}), the longest that a call \
         may take with progress: raise the ceiling, or lower the deadline"
    )]
    DeadlineBeyondCeiling {
        /// The limit of the whole call.
        deadline: Duration,
        /// The longest that it may take with progress.
        ceiling: Duration,
    },
    /// Repeats would begin after the end of the call.
    #[error(
        "`retry_window` ({window:?}) is longer than `deadline` ({deadline:?}), the limit of the \
         whole call: raise the deadline, or lower the retry window"
    )]
    WindowBeyondDeadline {
        /// The time in which attempts begin.
        window: Duration,
        /// The limit of the whole call.
        deadline: Duration,
    },
    /// The share is not a number between 0 and 1.
    #[error(
        "a retry `budget` of {0} of the calls: give a share between 0 and 1, or use `no_budget`"
    )]
    BudgetShare(f32),
}
