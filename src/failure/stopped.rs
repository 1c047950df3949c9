use std::fmt;

/// Why a failed call was not repeated, although waiting might have helped.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Stopped {
    /// All attempts are used up.
    Attempts,
    /// The call may have run, and nothing says that a repeat is safe.
    MayHaveRun,
    /// The next wait or attempt does not fit into the retry window, or the window has passed.
    Window,
    /// The next wait does not fit into the call's deadline, or the deadline has passed.
    Deadline,
    /// The server asked for a longer wait than
    /// [`max_retry_after`](crate::retry::RetryBuilder::max_retry_after).
    HintTooLong,
    /// The retry budget is used up.
    Budget,
    /// The service below was not ready for another attempt.
    NotReady,
    /// The user's [`override_verdict`](crate::retry::RetryBuilder::override_verdict) stopped it.
    Overridden,
}

impl Stopped {
    /// The name, as a log line has it: `may_have_run`.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Attempts => "attempts",
            Self::MayHaveRun => "may_have_run",
            Self::Window => "window",
            Self::Deadline => "deadline",
            Self::HintTooLong => "hint_too_long",
            Self::Budget => "budget",
            Self::NotReady => "not_ready",
            Self::Overridden => "overridden",
        }
    }
}

impl fmt::Display for Stopped {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}
