use crate::{
    failure::{Class, Failure, Fatal},
    observe::{Event, Observers},
};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use tokio::sync::Notify;

/// Open until the first fatal failure, then shut for good.
#[derive(Debug, Default)]
pub(super) struct Latch {
    cause: OnceLock<Failure>,
    shut: Notify,
    // Of each stack that shuts with it.
    observers: Mutex<Vec<Observers>>,
}

impl Latch {
    /// The cause, once it is shut, for one more caller.
    pub(super) fn cause(&self) -> Option<Failure> {
        self.cause.get().map(Failure::again)
    }

    /// Shuts it. The first cause stays.
    pub(super) fn shut(&self, cause: &Failure) {
        let mut cause = cause.again();
        cause.confine();
        if self.cause.set(cause).is_err() {
            return;
        }
        self.shut.notify_waiters();
        if let Some(failure) = self.cause.get() {
            for observers in self.observers() {
                observers.tell(&Event::Shut { failure });
            }
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

    pub(super) async fn wait(&self) -> Failure {
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
        self.latch.wait().await.into()
    }

    /// The cause, if the stack is shut.
    #[must_use]
    pub fn cause(&self) -> Option<Fatal> {
        self.latch.cause().map(Fatal::from)
    }

    /// Shuts the stack on account of a failure that came out of it.
    #[cfg(feature = "rmcp")]
    pub(crate) fn watch(&self, failure: &Failure) {
        self.latch.shut(failure);
    }

    /// Shuts the stack: for what goes wrong outside any call, as in a task in the background.
    pub fn shut(&self, cause: Fatal) {
        self.latch.shut(&Failure::from(cause));
    }
}
