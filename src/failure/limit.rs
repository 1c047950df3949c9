use super::Failure;
use std::{error::Error, fmt, sync::Arc, time::Duration};

/// A time limit of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Limit {
    /// The timeout of one attempt: how long it may go on without an answer or progress.
    Attempt,
    /// How long an attempt may go on with progress.
    Ceiling,
    /// The limit of the whole call.
    Deadline,
    /// How long the call may wait for the service to be ready.
    Readiness,
}

impl Limit {
    /// The setting that changes the limit.
    #[must_use]
    pub const fn setting(self) -> &'static str {
        match self {
            Self::Attempt => "attempt_timeout",
            Self::Ceiling => "ceiling",
            Self::Deadline => "deadline",
            Self::Readiness => "ready_timeout",
        }
    }
}

/// The time limit that a call reached: the source of a [`Failure`] from [`timeout`](crate::timeout)
/// or [`retry`](crate::retry).
///
/// Its text is for the log. The model reads only that there was no answer in time.
#[derive(Clone, Debug)]
pub struct LimitReached {
    limit: Limit,
    value: Duration,
    before: Option<Arc<dyn Error + Send + Sync>>,
}

impl LimitReached {
    pub(crate) fn new(limit: Limit, value: Duration) -> Self {
        Self {
            limit,
            value,
            before: None,
        }
    }

    /// Sets the failure of the previous attempt as the source.
    pub(crate) fn after(mut self, before: Option<Failure>) -> Self {
        self.before = before.map(|before| Arc::new(before) as _);
        self
    }

    /// Sets the error that arrived instead of an answer as the source.
    pub(crate) fn instead(mut self, came: Option<Arc<dyn Error + Send + Sync>>) -> Self {
        self.before = came;
        self
    }

    /// The kind of limit.
    #[must_use]
    pub fn limit(&self) -> Limit {
        self.limit
    }

    /// The length of the limit.
    #[must_use]
    pub fn value(&self) -> Duration {
        self.value
    }
}

impl fmt::Display for LimitReached {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let value = self.value;
        match self.limit {
            Limit::Attempt => write!(
                f,
                "no answer and no progress within {value:?}, the limit of an attempt"
            ),
            Limit::Ceiling => write!(
                f,
                "no answer within {value:?}, the ceiling of a call that reports progress"
            ),
            Limit::Deadline => write!(
                f,
                "no answer and no progress within {value:?}, the deadline of the call"
            ),
            Limit::Readiness => write!(f, "the tool service was not ready within {value:?}"),
        }?;
        write!(f, "; to allow more, raise `{}`", self.limit.setting())
    }
}

impl Error for LimitReached {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        let before = self.before.as_deref()?;
        Some(before as &(dyn Error + 'static))
    }
}

impl Failure {
    /// The time limit that the call reached, if it did.
    #[must_use]
    pub fn limit(&self) -> Option<&LimitReached> {
        (**self.inner.source.as_ref()?).downcast_ref()
    }
}
