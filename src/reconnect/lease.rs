use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use tokio::time::Instant;

/// One connection's life: who runs a call on it holds this.
#[derive(Debug)]
pub(super) struct Lease {
    pub(super) generation: u64,
    pub(super) since: Instant,
    answered: AtomicBool,
    retired: AtomicBool,
}

impl Lease {
    pub(super) fn new(generation: u64) -> Self {
        Self {
            generation,
            since: Instant::now(),
            answered: AtomicBool::new(false),
            retired: AtomicBool::new(false),
        }
    }

    /// A call was answered on it.
    pub(super) fn answer(&self) {
        self.answered.store(true, Relaxed);
    }

    /// New calls go elsewhere.
    pub(super) fn retire(&self) {
        self.retired.store(true, Relaxed);
    }

    pub(super) fn is_retired(&self) -> bool {
        self.retired.load(Relaxed)
    }

    pub(super) fn has_answered(&self) -> bool {
        self.answered.load(Relaxed)
    }
}
