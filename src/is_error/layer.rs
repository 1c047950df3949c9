use super::{
    IsError,
    detect::{Detectors, Unflagged},
};
use tower::Layer;

/// Wraps services in [`IsError`].
///
/// See the [module page](super) for what becomes of which answer, and an example.
#[derive(Clone, Debug, Default)]
pub struct IsErrorLayer {
    detectors: Detectors,
}

impl IsErrorLayer {
    /// Flags failures, and unflagged results that are unmistakably one.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Takes every unflagged result for what it says it is, unless a [detector](Self::detect) of
    /// yours sees more.
    #[must_use]
    pub fn trust_unflagged(mut self) -> Self {
        self.detectors.trust_envelopes();
        self
    }

    /// Also flags unflagged results that the detector takes for failures. Their content stays.
    #[must_use]
    pub fn detect(
        mut self,
        is_failure: impl Fn(&Unflagged<'_>) -> bool + Send + Sync + 'static,
    ) -> Self {
        self.detectors.add(is_failure);
        self
    }
}

impl<S> Layer<S> for IsErrorLayer {
    type Service = IsError<S>;

    fn layer(&self, inner: S) -> Self::Service {
        IsError {
            inner,
            detectors: self.detectors.clone(),
        }
    }
}
