use super::ResilienceLayer;
use crate::{
    call_log::{CallLogLayer, JsonLines},
    classify::ClassifyLayer,
    fatal::FatalLayer,
    is_error::IsErrorLayer,
    retry::RetryLayer,
};
use std::time::Duration;
use tower::timeout::TimeoutLayer;

/// The longest that an attempt takes, unless something else is said.
const ATTEMPT: Duration = Duration::from_secs(30);

/// Settings of a [`ResilienceLayer`] that are not the [defaults](super#defaults).
#[derive(Debug, Default)]
#[must_use = "settings do nothing until they are built"]
pub struct ResilienceBuilder {
    log: Option<CallLogLayer>,
    is_error: IsErrorLayer,
    fatal: FatalLayer,
    retry: RetryLayer,
    classify: ClassifyLayer,
    attempt_timeout: Option<Duration>,
}

impl ResilienceBuilder {
    /// Where the log goes, and what of the arguments; [`CallLogLayer::off`] for none.
    pub fn log(mut self, layer: CallLogLayer) -> Self {
        self.log = Some(layer);
        self
    }

    /// Which unflagged results are failures.
    pub fn is_error(mut self, layer: IsErrorLayer) -> Self {
        self.is_error = layer;
        self
    }

    /// What shuts at the first fatal failure: to be shared with other stacks of the process.
    pub fn fatal(mut self, layer: FatalLayer) -> Self {
        self.fatal = layer;
        self
    }

    /// How calls are repeated.
    pub fn retry(mut self, layer: RetryLayer) -> Self {
        self.retry = layer;
        self
    }

    /// Which errors of yours mean what.
    pub fn classify(mut self, layer: ClassifyLayer) -> Self {
        self.classify = layer;
        self
    }

    /// The longest that one attempt may take: less than a whole call may, by the
    /// [`deadline`](crate::retry::RetryBuilder::deadline) of the [retry](Self::retry).
    pub fn attempt_timeout(mut self, limit: Duration) -> Self {
        self.attempt_timeout = Some(limit);
        self
    }

    /// The layer.
    ///
    /// # Errors
    ///
    /// When a setting cannot work; the error says which and why.
    pub fn build(self) -> Result<ResilienceLayer, InvalidResilience> {
        let attempt_timeout = match (self.attempt_timeout, self.retry.deadline()) {
            (Some(Duration::ZERO), _) => return Err(InvalidResilience::ZeroAttemptTimeout),
            (Some(limit), Some(deadline)) if limit >= deadline => {
                return Err(InvalidResilience::AttemptBeyondDeadline { limit, deadline });
            }
            (Some(limit), _) => limit,
            (None, Some(deadline)) if deadline <= ATTEMPT => deadline / 2,
            (None, _) => ATTEMPT,
        };
        Ok(ResilienceLayer {
            log: self
                .log
                .unwrap_or_else(|| CallLogLayer::new(JsonLines::stderr())),
            is_error: self.is_error,
            fatal: self.fatal,
            retry: self.retry,
            classify: self.classify,
            timeout: TimeoutLayer::new(attempt_timeout),
        })
    }
}

/// Why a [`ResilienceLayer`] cannot work.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum InvalidResilience {
    /// No attempt could ever end well.
    #[error("an attempt timeout of zero: give an attempt some time")]
    ZeroAttemptTimeout,
    /// The call would end before the attempt.
    #[error(
        "an attempt timeout of {limit:?} does not fit into a deadline of {deadline:?} for the whole \
         call: raise the deadline of the retry layer, or lower the attempt timeout"
    )]
    AttemptBeyondDeadline {
        /// The longest that one attempt may take.
        limit: Duration,
        /// The longest that the whole call may take.
        deadline: Duration,
    },
}
