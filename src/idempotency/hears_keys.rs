use super::{IdempotencyHandle, IdempotencyLayer, NoKeys};

/// Whether a stack reads keys: [`IdempotencyLayer`] does, [`NoKeys`] does not.
pub trait HearsKeys: Sealed {
    /// The runs of the layer, if there is one.
    fn handle(&self) -> Option<&IdempotencyHandle>;
}

pub trait Sealed {}

impl Sealed for IdempotencyLayer {}
impl Sealed for NoKeys {}

impl HearsKeys for IdempotencyLayer {
    fn handle(&self) -> Option<&IdempotencyHandle> {
        Some(self.handle())
    }
}

impl HearsKeys for NoKeys {
    fn handle(&self) -> Option<&IdempotencyHandle> {
        None
    }
}
