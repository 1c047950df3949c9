use super::Hints;
use std::{fmt, sync::Arc};

/// The hints of one call as they are now, also after the call itself is gone.
///
/// For a call whose hints may change while it runs. A layer asks it after a failure, as long as it has the
/// call, or takes it when it hands the call on for the last time.
#[derive(Clone)]
pub struct HintSource(Arc<dyn Fn() -> Hints + Send + Sync>);

impl HintSource {
    /// Asks this function. It must not block.
    #[must_use]
    pub fn new(hints: impl Fn() -> Hints + Send + Sync + 'static) -> Self {
        Self(Arc::new(hints))
    }

    /// The hints as of now.
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
