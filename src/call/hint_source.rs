use super::Hints;
use std::{fmt, sync::Arc};

/// The current hints of one call, also after the call was passed to the service.
///
/// For a call whose hints may change while it runs. A layer asks it after each failure.
#[derive(Clone)]
pub struct HintSource(Arc<dyn Fn() -> Hints + Send + Sync>);

impl HintSource {
    /// Asks this function. It must not block.
    #[must_use]
    pub fn new(hints: impl Fn() -> Hints + Send + Sync + 'static) -> Self {
        Self(Arc::new(hints))
    }

    /// The current hints.
    #[must_use]
    pub fn hints(&self) -> Hints {
        (self.0)()
    }
}

impl fmt::Debug for HintSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("HintSource").field(&self.hints()).finish()
    }
}
