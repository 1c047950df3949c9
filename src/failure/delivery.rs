use std::fmt;

/// How far a failed call got, and so whether the tool may have run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Delivery {
    /// The call was not sent: there was no connection, or the service was not ready.
    NotSent,
    /// The server refused the call before it ran.
    Refused,
    /// The call was sent. Whether it ran is unknown.
    Unknown,
    /// The call ran.
    Executed,
}

impl Delivery {
    /// The name, as a log line has it: `not_sent`.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::NotSent => "not_sent",
            Self::Refused => "refused",
            Self::Unknown => "unknown",
            Self::Executed => "executed",
        }
    }

    /// Whether it is certain that the tool did not run.
    #[must_use]
    pub const fn did_not_run(self) -> bool {
        matches!(self, Self::NotSent | Self::Refused)
    }
}

impl fmt::Display for Delivery {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}
