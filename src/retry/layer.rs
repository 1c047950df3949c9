use super::{Retry, RetryBuilder, policy::Policy};
use std::{sync::Arc, time::Duration};
use tower::Layer;

/// Wraps services in [`Retry`].
///
/// All services of one layer, and their clones, share one budget. See the
/// [module page](super) for the rules, the defaults and an example.
#[derive(Clone, Debug)]
pub struct RetryLayer {
    policy: Arc<Policy>,
}

impl RetryLayer {
    /// Repeats with the [defaults](super#defaults).
    ///
    /// # Panics
    ///
    /// Never: the defaults are valid.
    #[must_use]
    pub fn new() -> Self {
        RetryBuilder::new()
            .build()
            .expect("the defaults are valid settings")
    }

    /// Repeats with other settings.
    pub fn builder() -> RetryBuilder {
        RetryBuilder::new()
    }

    /// The longest that a call may take in all, if that has a limit.
    #[must_use]
    pub fn deadline(&self) -> Option<Duration> {
        self.policy.deadline
    }

    pub(super) fn with_policy(policy: Policy) -> Self {
        Self {
            policy: Arc::new(policy),
        }
    }
}

impl Default for RetryLayer {
    fn default() -> Self {
        Self::new()
    }
}

impl<S> Layer<S> for RetryLayer {
    type Service = Retry<S>;

    fn layer(&self, inner: S) -> Self::Service {
        Retry {
            inner,
            policy: Arc::clone(&self.policy),
        }
    }
}
