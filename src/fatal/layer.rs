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

    /// Stays ready after the stack is shut, and answers each call with the cause. For a stack whose
    /// outer layers should see and log every call, as in the preset.
    #[must_use]
    pub fn answering(mut self) -> Self {
        self.answers = true;
        self
    }

    /// Adds an [observer](crate::observe) of the end. Stacks that share this layer may have one each.
    #[must_use]
    pub fn observer(self, observer: impl Observer + 'static) -> Self {
        self.observed_by(&Observers::new(observer))
    }

    /// The same, for an observer of the user's.
    pub(crate) fn observed_by(self, observers: &Observers) -> Self {
        if observers.is_own() {
            self.latch.add_observer(observers.clone());
        }
        self
    }

    /// The handle to wait on for the end.
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
