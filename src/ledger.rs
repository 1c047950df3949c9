//! Notes of one call for its log line.
//!
//! A layer inside [`call_log`](crate::call_log) may know more than the answer shows, such as the
//! number of attempts, or the failure that became a flagged result. It cannot write that into the
//! tool's answer. So it notes it in the ledger, a task-local of the call that is being polled. The
//! log reads the ledger at the end.
//!
//! A layer gets the ledger when it is called, by [`Ledger::of`]: from the task-local, or in another
//! task from the call itself. So a layer behind one that spawns finds it too, if the spawning layer
//! calls the inner service before it spawns, or if the call has a
//! [`Progress`](crate::call::Progress), which its copies share. Below `classify` nothing is noted,
//! because a tool may have a stack of its own, whose retries are not those of this call. So once a
//! call has reached `classify`, it no longer gives out its ledger.

use crate::{
    failure::{Class, Code, Failure},
    lock::Mutex,
};
use arrayvec::ArrayString;
use pin_project::pin_project;
use std::{
    cell::RefCell,
    fmt,
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed},
    },
    task::{Context, Poll},
    time::Duration,
};
use tokio::time::Instant;

tokio::task_local! {
    static LEDGER: Slot;
}

/// How many ledgers there are in the process. If there are none, no layer looks for one.
static COUNT: AtomicUsize = AtomicUsize::new(0);

// Empty below `classify`.
type Slot = RefCell<Option<Ledger>>;

/// The notes of one call. Clones share them.
#[derive(Clone, Debug)]
pub(crate) struct Ledger(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    id: CallId,
    notes: Mutex<Notes>,
    is_at_border: AtomicBool,
}

#[derive(Debug, Default)]
pub(crate) struct Notes {
    /// The attempts that began. 0 if no layer counts them.
    pub(crate) attempts: u32,
    pub(crate) retries: Vec<Retried>,
    /// The wait because the server had asked other calls to wait.
    pub(crate) held: Held,
    /// The failure that became a flagged result.
    pub(crate) failure: Option<Failure>,
    /// Whether a layer flagged the result.
    pub(crate) was_unflagged: bool,
    /// Whether the answer comes from the store of idempotency keys.
    pub(crate) was_replayed: bool,
}

/// How long a call waited because the server had asked another call to wait.
#[derive(Debug, Default)]
pub(crate) struct Held {
    over: Duration,
    since: Option<Instant>,
}

impl Held {
    pub(crate) fn begin(&mut self) {
        self.since = Some(Instant::now());
    }

    pub(crate) fn end(&mut self) {
        self.over = self.total();
        self.since = None;
    }

    /// The whole wait. The call may end while it still waits.
    pub(crate) fn total(&self) -> Duration {
        let running = self.since.map_or(Duration::ZERO, |since| since.elapsed());
        self.over.saturating_add(running)
    }
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
    /// The class of the failure.
    #[must_use]
    pub fn class(&self) -> Class {
        self.class
    }

    /// The server's own code for it.
    #[must_use]
    pub fn code(&self) -> Option<&Code> {
        self.code.as_ref()
    }

    /// The length of the wait, planned or finished.
    #[must_use]
    pub fn wait(&self) -> Duration {
        self.wait
    }
}

/// The id of a call in its log line, in the text for the model, and in events.
///
/// Shown as 16 hexadecimal digits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct CallId(u64);

impl CallId {
    pub(crate) fn random() -> Self {
        Self(rand::random())
    }

    /// The digits, without an allocation.
    pub(crate) fn digits(self) -> ArrayString<16> {
        let mut digits = [0; 16];
        let mut left = self.0;
        for digit in digits.iter_mut().rev() {
            *digit = b"0123456789abcdef"[usize::from(left.to_le_bytes()[0] & 15)];
            left >>= 4;
        }
        ArrayString::from_byte_string(&digits).unwrap_or_default()
    }
}

impl fmt::Display for CallId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.digits())
    }
}

impl Ledger {
    pub(crate) fn new() -> Self {
        Self::under(CallId::random())
    }

    /// A ledger for a run that may outlive its caller, with the caller's id if there is one.
    pub(crate) fn of_run() -> Self {
        Self::under(known_id().unwrap_or_else(CallId::random))
    }

    fn under(id: CallId) -> Self {
        // Readers of this ledger have already checked the count.
        COUNT.fetch_add(1, Relaxed);
        Self(Arc::new(Shared {
            id,
            notes: Mutex::default(),
            is_at_border: AtomicBool::new(false),
        }))
    }

    /// The ledger of the current call: the open one of this task, else the one that the call
    /// carries. None below `classify`.
    #[inline]
    pub(crate) fn of(carried: impl FnOnce() -> Option<Self>) -> Option<Self> {
        if !are_any() {
            return None;
        }
        LEDGER
            .try_with(|slot| slot.borrow().clone())
            .unwrap_or_else(|_| carried().filter(|ledger| !ledger.0.is_at_border.load(Relaxed)))
    }

    pub(crate) fn id(&self) -> CallId {
        self.0.id
    }

    /// Keeps this ledger open during `poll`.
    #[inline]
    pub(crate) fn keep<T>(&self, poll: impl FnOnce() -> T) -> T {
        LEDGER.sync_scope(RefCell::new(Some(self.clone())), poll)
    }

    /// Notes something.
    pub(crate) fn note(&self, write: impl FnOnce(&mut Notes)) {
        write(&mut self.0.notes.lock());
    }

    /// Takes the notes at the end of the call.
    pub(crate) fn take(&self) -> Notes {
        std::mem::take(&mut *self.0.notes.lock())
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        COUNT.fetch_sub(1, Relaxed);
    }
}

#[inline]
fn are_any() -> bool {
    COUNT.load(Relaxed) != 0
}

impl Notes {
    fn absorb(&mut self, run: Self) {
        self.attempts = self.attempts.max(run.attempts);
        self.retries.extend(run.retries);
        self.held.over = self.held.over.saturating_add(run.held.total());
        self.failure = run.failure.or(self.failure.take());
        self.was_unflagged |= run.was_unflagged;
    }
}

/// Notes something about the call that is being polled, if there is a ledger.
pub(crate) fn note(write: impl FnOnce(&mut Notes)) {
    if let Some(ledger) = Ledger::of(|| None) {
        ledger.note(write);
    }
}

/// Hands the notes of a run to the call that waited for it. If there is no ledger, logs a crash as
/// an event.
pub(crate) fn hand_over(id: CallId, run: Notes) {
    if let Some(ledger) = Ledger::of(|| None) {
        ledger.note(|notes| notes.absorb(run));
        return;
    }
    let crash = run
        .failure
        .filter(|failure| failure.class() == Class::Crash);
    if let Some(failure) = crash {
        tracing::error!(call_id = %id, error = %failure.chain(), "a tool failed unexpectedly");
    }
}

/// The id of the call that is being polled, if there is a ledger.
pub(crate) fn known_id() -> Option<CallId> {
    Ledger::of(|| None).map(|ledger| ledger.id())
}

/// A future with its own ledger. Returns the ledger at the end.
#[pin_project]
pub(crate) struct Recorded<F> {
    #[pin]
    future: F,
    ledger: Ledger,
}

impl<F> Recorded<F> {
    pub(crate) fn new(ledger: Ledger, future: F) -> Self {
        Self { future, ledger }
    }
}

impl<F: Future> Future for Recorded<F> {
    type Output = (F::Output, Ledger);

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let this = self.project();
        let polled = this.ledger.keep(|| this.future.poll(cx));
        polled.map(|output| (output, this.ledger.clone()))
    }
}

thread_local! {
    static DROPPED_FOR: RefCell<Option<Failure>> = const { RefCell::new(None) };
}

/// Drops a call because of a failure, and not because its caller dropped it.
#[cfg(any(feature = "rmcp", feature = "tower-mcp"))]
pub(crate) fn drop_for<T>(failure: Failure, call: T) {
    let before = DROPPED_FOR.replace(Some(failure));
    drop(call);
    DROPPED_FOR.set(before);
}

/// The failure because of which the call is being dropped. `None` if its caller dropped it.
pub(crate) fn dropped_for() -> Option<Failure> {
    DROPPED_FOR.with_borrow(|failure| failure.as_ref().map(Failure::duplicate))
}

/// Closes the ledger of the call that is being polled, until the guard is dropped.
#[inline]
pub(crate) fn close() -> Option<Closed> {
    if !are_any() {
        return None;
    }
    let ledger = LEDGER.try_with(RefCell::take).ok().flatten()?;
    ledger.0.is_at_border.store(true, Relaxed);
    Some(Closed(ledger))
}

pub(crate) struct Closed(Ledger);

impl Drop for Closed {
    fn drop(&mut self) {
        // Cannot fail, because the ledger came from this slot.
        let _ = LEDGER.try_with(|slot| slot.replace(Some(self.0.clone())));
    }
}
