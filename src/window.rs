//! Until when the call that is being made may begin.
//!
//! A retry window ends the time in which a further attempt may begin. Whether the attempt has begun
//! is known only to the layer that lets it wait in its own future: it is always ready, so that the
//! layer that repeats the call sees a ready service at once. So the layer above says here until when,
//! while it makes the call, and the layer below reads it in its own `call`.
//!
//! A layer between the two that makes the call later or in another task hides it.

use crate::failure::{Failure, Stopped};
use std::{
    cell::RefCell,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering::Relaxed},
    },
};
use tokio::time::Instant;

thread_local! {
    static CURRENT: RefCell<Option<BeginBy>> = const { RefCell::new(None) };
}

/// The end of the time in which one attempt may begin.
#[derive(Clone, Debug)]
pub(crate) struct BeginBy(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    at: Instant,
    is_missed: AtomicBool,
}

impl BeginBy {
    pub(crate) fn new(at: Instant) -> Self {
        Self(Arc::new(Inner {
            at,
            is_missed: AtomicBool::new(false),
        }))
    }

    /// That of the call that is being made on this thread.
    #[inline]
    pub(crate) fn current() -> Option<Self> {
        CURRENT.with_borrow(Clone::clone)
    }

    pub(crate) fn at(&self) -> Instant {
        self.0.at
    }

    pub(crate) fn is_over(&self) -> bool {
        self.0.at <= Instant::now()
    }

    /// Fails an attempt that cannot begin in time any more.
    pub(crate) fn miss(&self) -> Failure {
        self.0.is_missed.store(true, Relaxed);
        let text = "the retry window of the call ended before a further attempt could begin";
        let mut failure = Failure::timeout(text).not_sent();
        failure.set_stopped(Stopped::Window);
        failure
    }

    /// Whether the attempt failed by this.
    pub(crate) fn is_missed(&self) -> bool {
        self.0.is_missed.load(Relaxed)
    }
}

/// Makes a call that has to begin by then.
pub(crate) fn within<T>(begin_by: Option<&BeginBy>, call: impl FnOnce() -> T) -> T {
    let Some(begin_by) = begin_by else {
        return call();
    };
    let _outer = Outer(CURRENT.replace(Some(begin_by.clone())));
    call()
}

/// Puts back what held before, also after a panic.
struct Outer(Option<BeginBy>);

impl Drop for Outer {
    fn drop(&mut self) {
        CURRENT.set(self.0.take());
    }
}
