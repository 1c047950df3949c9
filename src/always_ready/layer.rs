use super::{AlwaysReady, ready_timeout::ReadyTimeout};
use std::time::Duration;
use tower::Layer;

/// Wraps services in [`AlwaysReady`].
///
/// ```
/// use mcp_resilience::{always_ready::AlwaysReadyLayer, retry::RetryLayer};
/// use std::time::Duration;
/// use tower::ServiceBuilder;
///
/// let layers = ServiceBuilder::new()
///     .layer(RetryLayer::new())
///     .layer(AlwaysReadyLayer::new().ready_timeout(Duration::from_secs(20)));
/// # let _ = layers.service(());
/// ```
#[derive(Clone, Copy, Debug, Default)]
pub struct AlwaysReadyLayer {
    ready_timeout: Option<Duration>,
}

impl AlwaysReadyLayer {
    /// Waits for readiness without a limit.
    #[must_use]
    pub const fn new() -> Self {
        Self {
            ready_timeout: None,
        }
    }

    /// The longest that a call waits for the inner service to be ready. Zero fails a call at once if
    /// the service is not ready. Timers count whole milliseconds.
    #[must_use]
    pub const fn ready_timeout(mut self, limit: Duration) -> Self {
        self.ready_timeout = Some(limit);
        self
    }
}

impl<S> Layer<S> for AlwaysReadyLayer {
    type Service = AlwaysReady<S>;

    fn layer(&self, inner: S) -> Self::Service {
        AlwaysReady::with_ready_timeout(inner, ReadyTimeout::new(self.ready_timeout))
    }
}
