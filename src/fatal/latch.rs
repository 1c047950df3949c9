use crate::{
    failure::{Class, Failure, Fatal},
    observe::{Event, Observers},
};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use tokio::sync::Notify;

/// Open until the first fatal failure, then shut for good.
#[derive(Debug, Default)]
pub(super) struct Latch {
    // Without secrets: it is shown where no call is known any more.
    cause: OnceLock<Fatal>,
    shut: Notify,
    // Of each stack that shuts with it.
    observers: Mutex<Vec<Observers>>,
}

impl Latch {
    /// What one more caller gets once it is shut: that it is, in general words. The cause may quote
    /// what another caller sent, so it is the source alone, for the log.
    pub(super) fn refusal(&self) -> Option<Failure> {
        let mut refusal = Failure::from(self.cause.get()?);
        refusal.confine();
        Some(refusal)
    }

    fn cause(&self) -> Option<Fatal> {
        self.cause.get().map(Fatal::again)
    }

    fn is_shut(&self) -> bool {
        self.cause.get().is_some()
    }

    /// Shuts it. The first cause stays.
    pub(super) fn shut(&self, cause: &Failure) {
        if self.is_shut() {
            return;
        }
        let reason = Fatal::from(cause.again()).redacted();
        if self.cause.set(reason).is_err() {
            return;
        }
        self.shut.notify_waiters();
        let mut failure = cause.again();
        failure.confine();
        for observers in self.observers() {
            observers.tell(&Event::Shut { failure: &failure });
        }
    }

    pub(super) fn add_observer(&self, observers: Observers) {
        let all = self.observers.lock();
        all.unwrap_or_else(PoisonError::into_inner).push(observers);
    }

    /// A copy, so that they are told outside of the lock.
    fn observers(&self) -> Vec<Observers> {
        let all = self.observers.lock();
        all.unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Shuts it if this failure is the end of the stack, and not of one further in.
    #[cold]
    pub(super) fn watch(&self, failure: &mut Failure) {
        if failure.class() == Class::Fatal && !failure.is_confined() {
            failure.confine();
            self.shut(failure);
        }
    }

    pub(super) async fn wait(&self) -> Fatal {
        loop {
            // Registered before the look, so that no shutting falls between the two.
            let shut = self.shut.notified();
            if let Some(cause) = self.cause() {
                return cause;
            }
            shut.await;
        }
    }
}

/// Watches for the end, and may bring it about.
///
/// Clones watch the same stack.
#[derive(Clone, Debug)]
pub struct FatalHandle {
    pub(super) latch: Arc<Latch>,
}

impl FatalHandle {
    /// Waits for the first fatal failure, and gives its cause; at once if it was before.
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

    /// Shuts the stack on account of a failure that came out of it.
    #[cfg(any(feature = "rmcp", feature = "tower-mcp"))]
    pub(crate) fn watch(&self, failure: &Failure) {
        self.latch.shut(failure);
    }

    /// Shuts the stack: for what goes wrong outside any call, as in a task in the background.
    pub fn shut(&self, cause: Fatal) {
        self.latch.shut(&Failure::from(cause));
    }
}
