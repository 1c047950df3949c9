//! The time until which the current call may begin.
//!
//! A retry window ends the time in which a further attempt may begin. Only a layer that waits in its
//! own future knows whether the attempt has begun: it is always ready, so the layer that repeats the
//! call sees a ready service at once. So the outer layer sets the time here while it makes the call,
//! and the inner layer reads it in its own `call`.
//!
//! It does not pass a layer in between that makes the call later or in another task.

use crate::failure::{Failure, Stopped};
use std::{
    cell::RefCell,
    fmt,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering::Relaxed},
    },
    time::Duration,
};
use tokio::time::Instant;

thread_local! {
    static CURRENT: RefCell<Option<BeginBy>> = const { RefCell::new(None) };
}

/// The end of the time in which one attempt may begin, and whether it may begin now.
#[derive(Clone)]
pub(crate) struct BeginBy(Arc<Inner>);

struct Inner {
    at: Option<Instant>,
    gate: Option<Box<Gate>>,
    is_missed: AtomicBool,
}

/// Says how much longer the attempt has to wait, or fails it.
pub(crate) type Gate = dyn Fn() -> Result<Option<Duration>, Failure> + Send + Sync;

impl BeginBy {
    /// None if the attempt may begin at any time.
    #[inline]
    pub(crate) fn new(at: Option<Instant>, gate: Option<Box<Gate>>) -> Option<Self> {
        (at.is_some() || gate.is_some()).then(|| {
            Self(Arc::new(Inner {
                at,
                gate,
                is_missed: AtomicBool::new(false),
            }))
        })
    }

    /// The time for the call that is being made on this thread.
    #[inline]
    pub(crate) fn current() -> Option<Self> {
        CURRENT.with_borrow(Clone::clone)
    }

    pub(crate) fn at(&self) -> Option<Instant> {
        self.0.at
    }

    pub(crate) fn is_over(&self) -> bool {
        self.0.at.is_some_and(|at| at <= Instant::now())
    }

    /// How much longer the attempt has to wait for what the server asked of another call. Ask when it would begin.
    pub(crate) fn held(&self) -> Result<Option<Duration>, Failure> {
        match &self.0.gate {
            Some(gate) => gate(),
            None => Ok(None),
        }
    }

    /// Fails an attempt that can no longer begin in time.
    pub(crate) fn miss(&self) -> Failure {
        self.0.is_missed.store(true, Relaxed);
        let text = "the retry window of the call ended before a further attempt could begin";
        let mut failure = Failure::timeout(text).not_sent();
        failure.set_stopped(Stopped::Window);
        failure
    }

    /// Whether the attempt failed because of this.
    pub(crate) fn is_missed(&self) -> bool {
        self.0.is_missed.load(Relaxed)
    }
}

impl fmt::Debug for BeginBy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("BeginBy").field(&self.0.at).finish()
    }
}

/// Makes a call that has to begin by this time.
#[inline]
pub(crate) fn within<T>(begin_by: Option<&BeginBy>, call: impl FnOnce() -> T) -> T {
    let Some(begin_by) = begin_by else {
        return call();
    };
    let _outer = Outer(CURRENT.replace(Some(begin_by.clone())));
    call()
}

/// Restores the earlier value, also after a panic.
struct Outer(Option<BeginBy>);

impl Drop for Outer {
    fn drop(&mut self) {
        CURRENT.set(self.0.take());
    }
}
