use crate::call::Cancellation;
use std::sync::{
    Arc,
    atomic::{AtomicU8, Ordering::Relaxed},
};

/// The phase of a call with a key, shared with its caller's future.
#[derive(Clone, Debug)]
pub(super) struct Phase(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    at: AtomicU8,
    stop: Cancellation,
}

impl Phase {
    /// Nothing is claimed, so the call may be dropped.
    pub(super) const WAITING: u8 = 0;
    /// The claim is being made.
    pub(super) const CLAIMING: u8 = 1;
    /// The call is running.
    pub(super) const RUNNING: u8 = 2;

    pub(super) fn new() -> Self {
        Self(Arc::new(Shared {
            at: AtomicU8::new(Self::WAITING),
            stop: Cancellation::new(),
        }))
    }

    pub(super) fn set(&self, phase: u8) {
        self.0.at.store(phase, Relaxed);
    }

    /// Whether the call has to run to its end, even if its caller is gone.
    pub(super) fn has_claimed(&self) -> bool {
        self.0.at.load(Relaxed) != Self::WAITING
    }

    /// Ends a run that no caller waits for.
    pub(super) fn stop(&self) {
        self.0.stop.cancel();
    }

    pub(super) fn is_stopped(&self) -> bool {
        self.0.stop.is_cancelled()
    }

    pub(super) async fn stopped(&self) {
        self.0.stop.cancelled().await;
    }
}
