use super::{
    Idempotency, IdempotencyBuilder, IdempotencyHandle, NoKeys,
    config::Config,
    store::{MemoryStore, Store},
};
use std::sync::Arc;
use tower::Layer;

/// Wraps services in [`Idempotency`].
///
/// Clones share the store and the runs. See the [module page](super) for the defaults and an example.
///
/// ```
/// use mcp_resilience::{ResilienceLayer, idempotency::IdempotencyLayer};
///
/// let keys = IdempotencyLayer::new(); // a store in memory
/// let resilience = ResilienceLayer::builder().idempotency(keys).build()?;
/// # let _ = resilience;
/// # Ok::<_, mcp_resilience::policy::InvalidPolicy>(())
/// ```
#[derive(Clone, Debug)]
pub struct IdempotencyLayer {
    handle: IdempotencyHandle,
}

impl IdempotencyLayer {
    /// Keeps outcomes in the memory of the process, with the [defaults](super#defaults).
    #[must_use]
    pub fn new() -> Self {
        Self::with_store(MemoryStore::new())
    }

    /// Keeps outcomes in this store, with the [defaults](super#defaults).
    ///
    /// # Panics
    ///
    /// Never: the defaults are valid.
    #[must_use]
    pub fn with_store(store: impl Store) -> Self {
        Self::builder(store)
            .build()
            .expect("the defaults are valid settings")
    }

    /// Keeps outcomes in this store, with other settings.
    pub fn builder(store: impl Store) -> IdempotencyBuilder {
        IdempotencyBuilder::new(Arc::new(store))
    }

    pub(super) fn of(config: Config) -> Self {
        let handle = IdempotencyHandle::new(Arc::new(config));
        Self { handle }
    }

    /// Waits for runs that have lost their caller, and settles unknown outcomes.
    #[must_use]
    pub fn handle(&self) -> &IdempotencyHandle {
        &self.handle
    }

    pub(super) fn config(&self) -> &Arc<Config> {
        self.handle.config()
    }
}

impl Default for IdempotencyLayer {
    fn default() -> Self {
        Self::new()
    }
}

impl<S> Layer<S> for IdempotencyLayer {
    type Service = Idempotency<S>;

    fn layer(&self, inner: S) -> Self::Service {
        Idempotency {
            inner,
            mode: self.clone(),
        }
    }
}

impl<S> Layer<S> for NoKeys {
    type Service = Idempotency<S, Self>;

    fn layer(&self, inner: S) -> Self::Service {
        Idempotency { inner, mode: *self }
    }
}

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
