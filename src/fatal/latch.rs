use crate::{
    failure::{Class, Failure, Fatal},
    lock::Mutex,
    observe::{Event, Observers},
};
use std::sync::{Arc, OnceLock};
use tokio::sync::Notify;

/// Open until the first fatal failure, then shut for good.
#[derive(Debug, Default)]
pub(super) struct Latch {
    // Masked: it is shown where no call is known.
    cause: OnceLock<Fatal>,
    shut: Notify,
    // For each stack that shares the latch.
    observers: Mutex<Vec<Observers>>,
}

impl Latch {
    /// The failure of later callers: general words, since the cause may quote what another caller
    /// sent. The cause is its source, for the log.
    #[inline]
    pub(super) fn refusal(&self) -> Option<Failure> {
        self.cause.get().map(refusal)
    }

    fn cause(&self) -> Option<Fatal> {
        self.cause.get().map(Fatal::duplicate)
    }

    fn is_shut(&self) -> bool {
        self.cause.get().is_some()
    }

    /// Shuts it. The first cause is kept.
    pub(super) fn shut(&self, cause: &Failure) {
        if self.is_shut() {
            return;
        }
        let reason = Fatal::from(cause.duplicate()).redacted();
        if self.cause.set(reason).is_err() {
            return;
        }
        self.shut.notify_waiters();
        let mut failure = cause.duplicate();
        failure.contain();
        // Copied, so that the observers are called outside the lock.
        let all = self.observers.lock().clone();
        for observers in all {
            observers.tell(&Event::Shut { failure: &failure });
        }
    }

    pub(super) fn add_observer(&self, observers: Observers) {
        self.observers.lock().push(observers);
    }

    /// Shuts it if this failure ends this stack, and not an inner one.
    #[cold]
    pub(super) fn watch(&self, failure: &mut Failure) {
        if failure.class() == Class::Fatal && !failure.is_contained() {
            failure.contain();
            self.shut(failure);
        }
    }

    pub(super) async fn wait(&self) -> Fatal {
        loop {
            // Register first, then look: so no shutdown is missed.
            let shut = self.shut.notified();
            if let Some(cause) = self.cause() {
                return cause;
            }
            shut.await;
        }
    }
}

#[cold]
fn refusal(cause: &Fatal) -> Failure {
    let mut refusal = Failure::from(cause);
    refusal.contain();
    refusal
}

/// Waits for the end of a stack, and can end it.
///
/// ```
/// use mcp_resilience::fatal::{Fatal, FatalLayer};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() {
/// let layer = FatalLayer::new();
/// let handle = layer.handle();
/// handle.shut(Fatal::new("the catalog is gone")); // from a background task
/// assert_eq!(handle.wait().await.to_string(), "the catalog is gone");
/// # }
/// ```
///
/// Clones watch the same stack.
#[derive(Clone, Debug)]
pub struct FatalHandle {
    pub(super) latch: Arc<Latch>,
}

impl FatalHandle {
    /// Waits for the first fatal failure, and returns its cause. Returns at once if the stack is
    /// shut.
    ///
    /// Dropping the future changes nothing.
    pub async fn wait(&self) -> Fatal {
        self.latch.wait().await
    }

    /// The cause, if the stack is shut.
    #[must_use]
    pub fn cause(&self) -> Option<Fatal> {
        self.latch.cause()
    }

    /// Shuts the stack because of a failure that came out of it.
    #[cfg(any(feature = "rmcp", feature = "tower-mcp"))]
    pub(crate) fn watch(&self, failure: &Failure) {
        self.latch.shut(failure);
    }

    /// Shuts the stack because of an error outside any call, such as in a background task.
    pub fn shut(&self, cause: Fatal) {
        self.latch.shut(&Failure::from(cause));
    }
}
