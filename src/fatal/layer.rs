use super::{FatalHandle, FatalStop, latch::Latch};
use std::sync::Arc;
use tower::Layer;

/// Wraps services in [`FatalStop`].
///
/// All services of one layer, and their clones, shut together. See the [module page](super) for
/// an example.
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
