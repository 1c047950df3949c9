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
use std::{cell::RefCell, fmt, pin::Pin, time::Duration};
use tokio::{task::futures::TaskLocalFuture, time::Instant};

tokio::task_local! {
    static LEDGER: Slot;
}

// Boxed, since it is moved in and out at every poll.
type Slot = RefCell<Option<Box<Ledger>>>;

/// A future that keeps a ledger for all that is polled inside it.
pub(crate) type Kept<F> = TaskLocalFuture<Slot, F>;

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
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct CallId(u64);

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
        Self {
            id: CallId::random(),
            attempts: 0,
            retries: Vec::new(),
            failure: None,
            was_unflagged: false,
        }
    }

    /// Polls `future` with this ledger open.
    pub(crate) fn keep<F: Future>(self, future: F) -> Kept<F> {
        LEDGER.scope(RefCell::new(Some(Box::new(self))), future)
    }

    /// Takes the ledger out of a future that is not polled any more.
    pub(crate) fn take<F>(kept: Pin<&mut Kept<F>>) -> Option<Self> {
        kept.take_value()?.into_inner().map(|ledger| *ledger)
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

/// The id of the call that is being polled, or a new one where nobody keeps a ledger.
pub(crate) fn call_id() -> CallId {
    let mut id = None;
    note(|ledger| id = Some(ledger.id));
    id.unwrap_or_else(CallId::random)
}

/// Runs `below` where nothing can be noted.
#[inline]
pub(crate) fn closed<T>(below: impl FnOnce() -> T) -> T {
    if note(|_| {}) {
        LEDGER.sync_scope(Slot::default(), below)
    } else {
        below()
    }
}
