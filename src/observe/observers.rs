use super::{Event, Observer, TracingEvents};
use std::{
    fmt,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering::Relaxed},
    },
};

/// The observer of a layer: the user's, or else [`TracingEvents`].
#[derive(Clone, Default)]
pub(crate) struct Observers(Option<Arc<Own>>);

struct Own {
    observer: Box<dyn Observer>,
    has_panicked: AtomicBool,
}

impl Observers {
    pub(crate) const DEFAULT: Self = Self(None);

    pub(crate) fn new(observer: impl Observer + 'static) -> Self {
        Self(Some(Arc::new(Own {
            observer: Box::new(observer),
            has_panicked: AtomicBool::new(false),
        })))
    }

    /// Whether it is the user's.
    #[inline]
    pub(crate) fn is_own(&self) -> bool {
        self.0.is_some()
    }

    /// This one if it is the user's, else the other.
    pub(crate) fn or(&self, other: &Self) -> Self {
        if self.is_own() { self } else { other }.clone()
    }

    /// Never call it under a lock: the observer may call the layer.
    #[cold]
    pub(crate) fn tell(&self, event: &Event<'_>) {
        match &self.0 {
            Some(own) => own.tell(event),
            None => TracingEvents.on_event(event),
        }
    }
}

impl Own {
    fn tell(&self, event: &Event<'_>) {
        let told = catch_unwind(AssertUnwindSafe(|| self.observer.on_event(event)));
        if let Err(panic) = told {
            // The payload may panic when it is dropped.
            let dropped = catch_unwind(AssertUnwindSafe(|| drop(panic)));
            if let Err(panic) = dropped {
                std::mem::forget(panic);
            }
            if !self.has_panicked.swap(true, Relaxed) {
                tracing::error!(
                    "an observer panicked, the call goes on; its further panics are not reported"
                );
            }
        }
    }
}

impl fmt::Debug for Observers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.0 {
            Some(_) => "Observer(..)",
            None => "TracingEvents",
        })
    }
}
