use crate::{failure::Class, ledger::Ledger, lock::Mutex};
use std::{
    fmt,
    sync::{
        Arc, OnceLock,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
    time::Duration,
};
use tokio::time::Instant;

/// When a call last reported progress. Limits of time count from there.
///
/// A request type that can report progress holds one, and returns it from
/// [`ToolCall::progress`](super::ToolCall::progress). Clones share it: the copies of a call that
/// [`retry`](crate::retry) makes are attempts at the same call. Two calls need two.
///
/// Report progress through a [`Ticker`]. Each belongs to one attempt, so that a late report of an
/// attempt that was abandoned does not extend a later one.
///
/// ```
/// use mcp_resilience::call::{Progress, ToolCall};
///
/// #[derive(Clone)]
/// struct Call {
///     progress: Progress,
/// }
///
/// impl ToolCall for Call {
///     fn name(&self) -> &str {
///         "print_catalog"
///     }
///     fn progress(&self) -> Option<&Progress> {
///         Some(&self.progress)
///     }
/// }
///
/// let call = Call { progress: Progress::new() };
/// let ticker = call.progress.ticker();
/// ticker.tick();
/// assert!(call.progress.last().is_some());
/// ```
#[derive(Clone, Default)]
pub struct Progress {
    shared: Arc<Shared>,
}

#[derive(Default)]
struct Shared {
    // How many attempts have begun, and how many of them are over.
    attempts: AtomicU64,
    over: AtomicU64,
    first: OnceLock<Instant>,
    // Nanoseconds from the first tick to the last.
    last: AtomicU64,
    pause: Mutex<Option<Pause>>,
    // The ledger of the call's log, for layers in another task.
    ledger: Mutex<Option<Ledger>>,
}

/// A wait between two attempts and its reason, for an adapter that reports it to the caller.
#[derive(Clone, Copy, Debug)]
#[cfg_attr(
    not(any(feature = "rmcp", feature = "tower-mcp")),
    allow(dead_code, reason = "only adapters of servers tell of it")
)]
pub(crate) struct Pause {
    /// The class of the last attempt's failure.
    pub(crate) class: Class,
    /// The wait that the failure asked for.
    pub(crate) asked: Option<Duration>,
    pub(crate) wait: Duration,
    pub(crate) since: Instant,
}

impl Progress {
    /// Creates the handle of a call that has reported nothing yet.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// A ticker of the current attempt. Ask for it when the call is sent.
    #[must_use]
    pub fn ticker(&self) -> Ticker {
        Ticker {
            attempt: self.shared.attempts.load(Relaxed),
            shared: Arc::clone(&self.shared),
        }
    }

    /// Begins an attempt. From here on, tickers belong to it.
    pub(crate) fn attempt(&self) -> Attempt {
        Attempt {
            number: self.shared.attempts.fetch_add(1, Relaxed).wrapping_add(1),
            progress: self.clone(),
        }
    }

    /// Lets the call carry the ledger of its log.
    pub(crate) fn carry(&self, ledger: &Ledger) {
        *self.shared.ledger.lock() = Some(ledger.clone());
    }

    pub(crate) fn ledger(&self) -> Option<Ledger> {
        self.shared.ledger.lock().clone()
    }

    /// The time of the last report, if there was one.
    #[must_use]
    pub fn last(&self) -> Option<Instant> {
        let first = *self.shared.first.get()?;
        first.checked_add(Duration::from_nanos(self.shared.last.load(Relaxed)))
    }
}

impl Progress {
    /// Notes that the call waits for its next attempt.
    pub(crate) fn set_pause(&self, pause: Pause) {
        *self.shared.pause.lock() = Some(pause);
    }

    /// The last wait that began.
    #[cfg_attr(
        not(any(feature = "rmcp", feature = "tower-mcp")),
        allow(dead_code, reason = "only adapters of servers tell of it")
    )]
    pub(crate) fn pause(&self) -> Option<Pause> {
        *self.shared.pause.lock()
    }
}

impl fmt::Debug for Progress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Progress")
            .field("last", &self.last())
            .finish_non_exhaustive()
    }
}

/// A running attempt. After its end, its tickers and all earlier ones do nothing.
#[derive(Debug)]
pub(crate) struct Attempt {
    progress: Progress,
    number: u64,
}

impl Attempt {
    pub(crate) fn progress(&self) -> &Progress {
        &self.progress
    }
}

impl Drop for Attempt {
    fn drop(&mut self) {
        let over = self.number.saturating_add(1);
        self.progress.shared.over.fetch_max(over, Relaxed);
    }
}

/// Reports progress of one attempt at a call.
///
/// It may be used from any task or thread, and may outlive its attempt.
#[derive(Clone)]
pub struct Ticker {
    shared: Arc<Shared>,
    attempt: u64,
}

impl Ticker {
    /// Reports that the call is alive: its limits of time count from now.
    ///
    /// Does nothing after the end of the attempt. It allocates nothing and wakes no task, so report
    /// as often as you like.
    pub fn tick(&self) {
        if self.attempt < self.shared.over.load(Relaxed) {
            return;
        }
        let now = Instant::now();
        let first = *self.shared.first.get_or_init(|| now);
        let since = now.saturating_duration_since(first).as_nanos();
        let since = u64::try_from(since).unwrap_or(u64::MAX);
        self.shared.last.fetch_max(since, Relaxed);
    }
}

impl fmt::Debug for Ticker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Ticker")
            .field("attempt", &self.attempt)
            .finish_non_exhaustive()
    }
}

/// Whether it is the ceiling that sets the end of such a limit.
pub(crate) fn ends_at_ceiling(
    begun: Instant,
    progress: Option<&Progress>,
    limit: Duration,
    ceiling: Duration,
) -> bool {
    limit != ceiling && due(begun, progress, limit, ceiling) == begun.checked_add(ceiling)
}

/// When a limit ends: it counts from `begun` and again from each report, up to a ceiling that counts
/// from `begun`. `None` if the time cannot be expressed.
pub(crate) fn due(
    begun: Instant,
    progress: Option<&Progress>,
    limit: Duration,
    ceiling: Duration,
) -> Option<Instant> {
    let last = progress.and_then(Progress::last);
    let since = last.map_or(begun, |last| last.max(begun));
    let ends = [since.checked_add(limit), begun.checked_add(ceiling)];
    ends.into_iter().flatten().min()
}
