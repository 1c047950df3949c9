//! What one call leaves behind for its log line, beside its answer.
//!
//! A layer inside [`call_log`](crate::call_log) may know what the answer does not tell: that it
//! came at the third attempt, or which failure became that flagged result. It must not write
//! that into the answer, which is the tool's. So it notes it here, in the task-local of the call
//! that is being polled, and the log reads it at the end.
//!
//! Notes are taken while a layer is polled by the log's own future. Across a task of its own
//! (a layer that spawns) there is no ledger, and a note is lost; a `Failure` carries its attempts
//! itself for that case. Below the border nothing is noted: a tool may well have a stack of its
//! own, whose retries are not this call's.

use crate::failure::{Class, Code, Failure};
use pin_project::pin_project;
use std::{
    cell::RefCell,
    fmt,
    pin::Pin,
    task::{Context, Poll},
    time::Duration,
};
use tokio::time::Instant;

tokio::task_local! {
    static LEDGER: Slot;
}

// Boxed, since it is moved in and out at every poll.
type Slot = RefCell<Option<Box<Ledger>>>;

#[derive(Debug)]
pub(crate) struct Ledger {
    pub(crate) id: CallId,
    /// Attempts begun; 0 where no layer counts them.
    pub(crate) attempts: u32,
    pub(crate) retries: Vec<Retried>,
    /// The failure that became a flagged result.
    pub(crate) failure: Option<Failure>,
    /// Whether the flag is ours: the tool's result was a failure without one.
    pub(crate) was_unflagged: bool,
    /// Whether the answer comes from the store of idempotency keys.
    pub(crate) was_replayed: bool,
}

/// One attempt that failed and was followed by a wait.
#[derive(Debug)]
pub struct Retried {
    pub(crate) class: Class,
    pub(crate) code: Option<Code>,
    pub(crate) wait: Duration,
    pub(crate) since: Instant,
}

impl Retried {
    /// What kind of failure it was.
    #[must_use]
    pub fn class(&self) -> Class {
        self.class
    }

    /// The server's own code for it.
    #[must_use]
    pub fn code(&self) -> Option<&Code> {
        self.code.as_ref()
    }

    /// How long the wait was, or was to be.
    #[must_use]
    pub fn wait(&self) -> Duration {
        self.wait
    }
}

/// Names one call across the log line, the text for the model and the events.
///
/// It is shown as 16 hexadecimal digits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct CallId(u64);

impl CallId {
    pub(crate) fn random() -> Self {
        Self(rand::random())
    }
}

impl fmt::Display for CallId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}", self.0)
    }
}

impl Ledger {
    pub(crate) fn new() -> Self {
        Self::unnoted(CallId::random())
    }

    /// Of a call of which nothing is noted.
    pub(crate) fn unnoted(id: CallId) -> Self {
        Self {
            id,
            attempts: 0,
            retries: Vec::new(),
            failure: None,
            was_unflagged: false,
            was_replayed: false,
        }
    }

    /// A ledger for a run that may outlive its caller: under the caller's id, if there is one.
    pub(crate) fn of_run() -> Self {
        Self::unnoted(call_id())
    }

    fn absorb(&mut self, run: Self) {
        self.attempts = self.attempts.max(run.attempts);
        self.retries.extend(run.retries);
        self.failure = run.failure.or(self.failure.take());
        self.was_unflagged |= run.was_unflagged;
    }

    /// Keeps this ledger open while `poll` runs, which must not panic.
    pub(crate) fn keep<T>(self: Box<Self>, poll: impl FnOnce() -> T) -> (T, Option<Box<Self>>) {
        LEDGER.sync_scope(RefCell::new(Some(self)), || {
            (poll(), LEDGER.with(RefCell::take))
        })
    }
}

/// Notes something in the ledger of the call that is being polled, and says whether there is one.
#[inline]
pub(crate) fn note(write: impl FnOnce(&mut Ledger)) -> bool {
    LEDGER
        .try_with(|ledger| match &mut *ledger.borrow_mut() {
            Some(ledger) => {
                write(ledger);
                true
            }
            None => false,
        })
        .unwrap_or(false)
}

/// Hands what a run noted over to the call that waited for it. If nobody keeps a ledger any more, the
/// operator still learns of a crash.
pub(crate) fn hand_over(run: Ledger) {
    let mut run = Some(run);
    note(|ledger| {
        if let Some(run) = run.take() {
            ledger.absorb(run);
        }
    });
    let Some(Ledger { id, failure, .. }) = run else {
        return;
    };
    if let Some(failure) = failure.filter(|failure| failure.class() == Class::Crash) {
        tracing::error!(call_id = %id, error = %failure.chain(), "a tool failed unexpectedly");
    }
}

/// The id of the call that is being polled, or a new one where nobody keeps a ledger.
pub(crate) fn call_id() -> CallId {
    known_id().unwrap_or_else(CallId::random)
}

/// The id of the call that is being polled, where somebody keeps a ledger.
pub(crate) fn known_id() -> Option<CallId> {
    let mut id = None;
    note(|ledger| id = Some(ledger.id));
    id
}

/// A future that is polled under a ledger of its own, and gives it at its end.
#[pin_project]
pub(crate) struct Recorded<F> {
    #[pin]
    future: F,
    // Out only while the future is polled.
    ledger: Option<Box<Ledger>>,
}

impl<F> Recorded<F> {
    pub(crate) fn new(ledger: Ledger, future: F) -> Self {
        Self {
            future,
            ledger: Some(Box::new(ledger)),
        }
    }
}

impl<F: Future> Future for Recorded<F> {
    type Output = (F::Output, Option<Box<Ledger>>);

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let this = self.project();
        let Some(ledger) = this.ledger.take() else {
            return this.future.poll(cx).map(|output| (output, None));
        };
        let (polled, ledger) = ledger.keep(|| this.future.poll(cx));
        match polled {
            Poll::Ready(output) => Poll::Ready((output, ledger)),
            Poll::Pending => {
                *this.ledger = ledger;
                Poll::Pending
            }
        }
    }
}

thread_local! {
    static DROPPED_FOR: RefCell<Option<Failure>> = const { RefCell::new(None) };
}

/// Drops a call that fails by that, and was not hung up on by its caller.
#[cfg(any(feature = "rmcp", feature = "tower-mcp"))]
pub(crate) fn drop_for<T>(failure: Failure, call: T) {
    let before = DROPPED_FOR.replace(Some(failure));
    drop(call);
    DROPPED_FOR.set(before);
}

/// Why the call that is being dropped fails, if its caller did not hang up.
pub(crate) fn dropped_for() -> Option<Failure> {
    DROPPED_FOR.with_borrow(|failure| failure.as_ref().map(Failure::again))
}

/// Closes the ledger of the call that is being polled, until what this gives is dropped.
#[inline]
pub(crate) fn close() -> Closed {
    let ledger = LEDGER.try_with(RefCell::take).ok().flatten();
    Closed { ledger }
}

pub(crate) struct Closed {
    ledger: Option<Box<Ledger>>,
}

impl Drop for Closed {
    #[inline]
    fn drop(&mut self) {
        if let Some(ledger) = self.ledger.take() {
            // It came from there.
            let _ = LEDGER.try_with(|slot| slot.replace(Some(ledger)));
        }
    }
}
