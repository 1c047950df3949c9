use super::{FatalHandle, FatalStop, latch::Latch};
use crate::observe::{Observer, Observers};
use std::sync::Arc;
use tower::Layer;

/// Wraps services in [`FatalStop`].
///
/// All services of one layer, and their clones, shut together.
///
/// ```
/// use mcp_resilience::{fatal::FatalLayer, retry::RetryLayer};
/// use tower::ServiceBuilder;
///
/// let fatal = FatalLayer::new();
/// let handle = fatal.handle(); // `handle.wait().await` in `main` gives the reason to end
/// let layers = ServiceBuilder::new().layer(fatal).layer(RetryLayer::new());
/// # let _ = (handle, layers.service(()));
/// ```
#[derive(Clone, Debug, Default)]
pub struct FatalLayer {
    latch: Arc<Latch>,
    answers: bool,
}

impl FatalLayer {
    /// Open, until the first fatal failure.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Stays ready when it is shut, and answers each call with the cause: for a stack whose outer
    /// layers are to see, and to log, every call. The preset's does.
    #[must_use]
    pub fn answering(mut self) -> Self {
        self.answers = true;
        self
    }

    /// What [watches](crate::observe) for the end, beside those that were given before: the stacks that
    /// share this layer may have one each.
    #[must_use]
    pub fn observer(self, observer: impl Observer + 'static) -> Self {
        self.observed_by(&Observers::new(observer))
    }

    /// The same, if there is one of the user's.
    pub(crate) fn observed_by(self, observers: &Observers) -> Self {
        if observers.is_own() {
            self.latch.add_observer(observers.clone());
        }
        self
    }

    /// What to wait on for the end.
    #[must_use]
    pub fn handle(&self) -> FatalHandle {
        FatalHandle {
            latch: Arc::clone(&self.latch),
        }
    }
}

impl<S> Layer<S> for FatalLayer {
    type Service = FatalStop<S>;

    fn layer(&self, inner: S) -> Self::Service {
        FatalStop::with_latch(inner, Arc::clone(&self.latch), self.answers)
    }
}
