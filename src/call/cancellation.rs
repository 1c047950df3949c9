#[cfg(feature = "rmcp")]
use std::sync::Weak;
use std::{
    fmt,
    pin::pin,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering::SeqCst},
    },
};
use tokio::sync::Notify;

/// Whether the caller cancelled the call explicitly.
///
/// A dropped call may only have lost its connection. A request type that can tell the two apart holds
/// one of these, and returns it from [`ToolCall::cancellation`](super::ToolCall::cancellation).
/// Clones share it.
#[derive(Clone, Default)]
pub struct Cancellation(Arc<Shared>);

#[derive(Debug, Default)]
struct Shared {
    is_cancelled: AtomicBool,
    notify: Notify,
}

impl Cancellation {
    /// Creates the handle of a call that is not cancelled.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Marks the call as cancelled by its caller.
    pub fn cancel(&self) {
        self.0.is_cancelled.store(true, SeqCst);
        self.0.notify.notify_waiters();
    }

    /// Whether the caller has cancelled the call.
    #[must_use]
    pub fn is_cancelled(&self) -> bool {
        self.0.is_cancelled.load(SeqCst)
    }

    /// Waits until the caller cancels the call, which may be for ever.
    pub async fn cancelled(&self) {
        let mut notified = pin!(self.0.notify.notified());
        // Register first, then look: so no notification is missed.
        notified.as_mut().enable();
        if !self.is_cancelled() {
            notified.await;
        }
    }
}

/// Refers to a call as long as it goes on.
#[cfg(feature = "rmcp")]
#[derive(Debug)]
pub(crate) struct WeakCancellation(Weak<Shared>);

#[cfg(feature = "rmcp")]
impl Cancellation {
    pub(crate) fn downgrade(&self) -> WeakCancellation {
        WeakCancellation(Arc::downgrade(&self.0))
    }
}

#[cfg(feature = "rmcp")]
impl WeakCancellation {
    pub(crate) fn upgrade(&self) -> Option<Cancellation> {
        self.0.upgrade().map(Cancellation)
    }

    pub(crate) fn is_over(&self) -> bool {
        self.0.strong_count() == 0
    }
}

impl fmt::Debug for Cancellation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Cancellation")
            .field("is_cancelled", &self.is_cancelled())
            .finish()
    }
}
