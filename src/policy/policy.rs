use super::Problem;
use crate::backoff::{Backoff, Waits};
use std::time::Duration;

/// Settings for one tool, for several, or for a whole layer. A policy for tools takes from the layer
/// what it leaves out; a policy for a layer takes the default.
///
/// ```
/// use mcp_resilience::policy::Policy;
/// use std::time::Duration;
///
/// let policy = Policy::new().attempt_timeout(Duration::from_secs(600)).max_attempts(2).repeat_ok(true);
/// # let _ = policy;
/// ```
#[derive(Clone, Debug, Default)]
#[must_use = "a policy does nothing until a layer gets it"]
#[expect(
    clippy::option_option,
    reason = "that there is no limit may be said, or left out"
)]
pub struct Policy {
    pub(crate) attempt_timeout: Option<Duration>,
    pub(crate) ceiling: Option<Duration>,
    // The inner `None` means no limit.
    pub(crate) deadline: Option<Option<Duration>>,
    pub(crate) retry_window: Option<Option<Duration>>,
    pub(crate) max_attempts: Option<u32>,
    pub(crate) waits: Option<Waits>,
    pub(crate) repeat_ok: Option<bool>,
    pub(crate) budget: Option<Budget>,
}

/// How the repeats of a tool are paid for.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Budget {
    OfCalls { share: f32, per_second: u32 },
    None,
}

impl Policy {
    /// Creates a policy that changes nothing.
    pub fn new() -> Self {
        Self::default()
    }

    /// The longest that an attempt may go on without an answer or a report of progress. Default: 10
    /// minutes in a server, 60 s in a client.
    pub fn attempt_timeout(mut self, limit: Duration) -> Self {
        self.attempt_timeout = Some(limit);
        self
    }

    /// The longest that an attempt, and a call with a deadline, may go on with reports of progress.
    /// Default: 1 h, or the limit of the attempt or the deadline if that is longer.
    pub fn ceiling(mut self, limit: Duration) -> Self {
        self.ceiling = Some(limit);
        self
    }

    /// The longest that the whole call may go on without an answer or a report of progress. Default:
    /// no limit. See [`RetryBuilder::deadline`](crate::retry::RetryBuilder::deadline).
    pub fn deadline(mut self, limit: Duration) -> Self {
        self.deadline = Some(Some(limit));
        self
    }

    /// No deadline, even if the layer has one. The retry window is then 55 s, unless it is set.
    pub fn no_deadline(mut self) -> Self {
        self.deadline = Some(None);
        self
    }

    /// The time after the start of the call in which waits and further attempts may begin. Default:
    /// 55 s. See [`RetryBuilder::retry_window`](crate::retry::RetryBuilder::retry_window).
    pub fn retry_window(mut self, window: Duration) -> Self {
        self.retry_window = Some(Some(window));
        self
    }

    /// No retry window, even if the layer has one: a call may be repeated however long it has taken,
    /// up to its deadline.
    pub fn no_retry_window(mut self) -> Self {
        self.retry_window = Some(None);
        self
    }

    /// How many attempts are made in all; 1 for no repeat. Default: 3.
    pub fn max_attempts(mut self, attempts: u32) -> Self {
        self.max_attempts = Some(attempts);
        self
    }

    /// The longest waits between attempts, from which the waits are drawn.
    pub fn backoff(mut self, backoff: Backoff) -> Self {
        self.waits = Some(Waits::Ceilings(backoff));
        self
    }

    /// The waits themselves, from any iterator; a new one for each call that needs it. They are used
    /// without jitter. The attempts end with the iterator.
    ///
    /// A hint of the server is still a floor: the wait is the hint, plus a random part of half the
    /// hint or of the iterator's wait, whichever is longer.
    pub fn waits<I>(mut self, make: impl Fn() -> I + Send + Sync + 'static) -> Self
    where
        I: Iterator<Item = Duration> + Send + 'static,
    {
        self.waits = Some(Waits::own(make));
        self
    }

    /// Sets whether a repeat is safe. Overrides the hints of the tool and the layer's
    /// [`repeat_ok`](crate::retry::RetryBuilder::repeat_ok).
    pub fn repeat_ok(mut self, may_run_twice: bool) -> Self {
        self.repeat_ok = Some(may_run_twice);
        self
    }

    /// A retry budget apart from that of the layer. See
    /// [`RetryBuilder::budget`](crate::retry::RetryBuilder::budget).
    ///
    /// If the policy is for several tools, they share it.
    pub fn budget(mut self, share: f32, per_second: u32) -> Self {
        self.budget = Some(Budget::OfCalls { share, per_second });
        self
    }

    /// No retry budget: a call is repeated up to its last attempt.
    pub fn no_budget(mut self) -> Self {
        self.budget = Some(Budget::None);
        self
    }

    /// This policy, and for the rest the other.
    pub(crate) fn or(self, other: &Self) -> Self {
        Self {
            attempt_timeout: self.attempt_timeout.or(other.attempt_timeout),
            ceiling: self.ceiling.or(other.ceiling),
            deadline: self.deadline.or(other.deadline),
            retry_window: self.retry_window.or(other.retry_window),
            max_attempts: self.max_attempts.or(other.max_attempts),
            waits: self.waits.or_else(|| other.waits.clone()),
            repeat_ok: self.repeat_ok.or(other.repeat_ok),
            budget: self.budget.or(other.budget),
        }
    }

    /// Refuses settings that cannot work with any others.
    pub(super) fn check(&self) -> Result<(), Problem> {
        let limits = [
            (self.attempt_timeout, Problem::ZeroAttemptTimeout),
            (self.ceiling, Problem::ZeroCeiling),
            (self.deadline.flatten(), Problem::ZeroDeadline),
            (self.retry_window.flatten(), Problem::ZeroRetryWindow),
        ];
        let mut limits = limits.into_iter();
        if let Some((_, problem)) = limits.find(|(limit, _)| *limit == Some(Duration::ZERO)) {
            return Err(problem);
        }
        if self.max_attempts == Some(0) {
            return Err(Problem::NoAttempts);
        }
        match self.budget {
            Some(Budget::OfCalls { share, .. }) if !(0.0..=1.0).contains(&share) => {
                Err(Problem::BudgetShare(share))
            }
            _ => Ok(()),
        }
    }
}
