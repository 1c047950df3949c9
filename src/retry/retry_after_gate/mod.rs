//! Makes one call's hint hold for all calls to the same target.

mod pace;
mod target;
mod targets;
mod ticket;

pub(super) use self::{
    target::{Turn, WaitLimit},
    ticket::{Held, Ticket},
};

use self::{pace::Pace, target::Target, targets::Targets};
use super::shares::share;
use crate::{call::ToolCall, failure::Failure};
use std::{
    fmt,
    hash::{DefaultHasher, Hash, Hasher},
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed},
    },
    time::Duration,
};
use tokio::time::Instant;

/// The default time between two released calls.
const PACE: Duration = Duration::from_millis(10);

/// The longest time for which one hint closes a target, and the longest pace. Without it, an absurd
/// hint would close a tool until the process ends.
const LONGEST: Duration = Duration::from_secs(60 * 60);

/// Makes the `retryAfter` of one call hold for all later calls to the same target.
///
/// Without a gate, each call is refused by itself, and all calls with the same wait come back at the
/// same time. With a gate, when the server asks one call to wait:
///
/// - No other attempt to the same target begins before that time, neither a first attempt nor a repeat.
///   It waits in the future of its call. A reservation of the inner service, such as a permit, is
///   released first. This includes an attempt that waits for the service to be ready when the hint
///   comes, here or in [`AlwaysReady`](crate::always_ready::AlwaysReady), but not one that waits for a
///   new connection.
/// - Then the calls leave the gate in the order in which they came, one every 10 ms unless the
///   [pace](Self::pace) is set. The rate doubles every 5 s without a further hint, and is unlimited
///   after 50 s, so that the gate does not limit a healthy server for long.
/// - A call that has left the gate may have to wait for the service, for example for a permit or a new
///   connection. It goes out when the service is ready, and does not pass the pace again. So several
///   such calls may go out together.
/// - A further hint moves all waiting calls behind its end.
/// - A call fails at once if its turn would not come within its [retry window or
///   deadline](super#the-retry-window-and-the-deadline), or if the server asks for more than
///   [`max_retry_after`]. Its failure has the class of the hint, and the time until its turn as
///   [`retry_after`](Failure::retry_after). It is [`Delivery::NotSent`](crate::Delivery::NotSent) if
///   no earlier attempt was sent. This also holds for calls that are waiting when a further hint
///   comes.
///
/// Running attempts are not affected. Only failures of a class that [heals](crate::Class::heals)
/// close a target. One hint closes it for 1 h at most.
///
/// # When to use it
///
/// When many calls of one process share a rate limit of the server, such as that of an API key.
/// Default: off.
///
/// Do not use it for a server that limits each user or each set of arguments, unless [the
/// target](Self::by) distinguishes them. Otherwise the limit of one would delay all others. The
/// gate knows only the calls of its process; jitter spreads those of several.
///
/// # Sharing
///
/// Clones share one gate. All services of one layer share it too. Give a clone to another layer to
/// let both wait for the same hints. If one layer is inside the other, each call passes the gate
/// twice.
///
/// The gate remembers a target until its wait and its pace are over, and takes about 200 bytes for it.
/// If there are more than 1,024, it forgets the pace of those whose wait is over. It never forgets a
/// wait.
///
/// # Cancellation
///
/// Dropping a waiting call gives its place to the next call that comes. A waiting call that is not
/// polled does not delay others.
///
/// # Example
///
/// ```
/// use mcp_resilience::retry::{RetryAfterGate, RetryLayer};
/// use std::time::Duration;
///
/// let retry = RetryLayer::builder()
///     .retry_after_gate(RetryAfterGate::per_server().pace(Duration::from_millis(50)))
///     .build()?;
/// # let _ = retry;
/// # Ok::<_, mcp_resilience::policy::InvalidPolicy>(())
/// ```
///
/// [`max_retry_after`]: super::RetryBuilder::max_retry_after
#[derive(Clone)]
pub struct RetryAfterGate {
    target_of: Arc<TargetOf>,
    pace: Pace,
    state: Arc<State>,
}

type TargetOf = dyn Fn(&dyn ToolCall) -> u64 + Send + Sync;

#[derive(Default)]
struct State {
    targets: Mutex<Targets>,
    // While it is 0, calls do not look up their target.
    count: AtomicUsize,
    tickets: AtomicU64,
}

impl RetryAfterGate {
    /// One target for all calls: for a limit of the server, or of a shared key.
    #[must_use]
    pub fn per_server() -> Self {
        Self::by(|_| ())
    }

    /// A target for each tool, one for all resources, and one for all prompts.
    #[must_use]
    pub fn per_tool() -> Self {
        Self::by(|call| share(call))
    }

    /// The target of a call is the result of the function. Calls with the same result share their
    /// hints.
    ///
    /// It runs for each attempt, and again when one fails. A panic in it passes to the caller.
    ///
    /// ```
    /// use mcp_resilience::retry::RetryAfterGate;
    ///
    /// // `search_books` and `search_authors` share a limit.
    /// let gate = RetryAfterGate::by(|call| call.name().split('_').next().map(str::to_owned));
    /// # let _ = gate;
    /// ```
    #[must_use]
    pub fn by<K: Hash>(target: impl Fn(&dyn ToolCall) -> K + Send + Sync + 'static) -> Self {
        let target_of = move |call: &dyn ToolCall| {
            let mut hasher = DefaultHasher::new();
            target(call).hash(&mut hasher);
            hasher.finish()
        };
        Self {
            target_of: Arc::new(target_of),
            pace: Pace(PACE),
            state: Arc::default(),
        }
    }

    /// The time between two calls that are released after a hint. Default: 10 ms; at most 1 h. Zero
    /// releases all calls at once.
    ///
    /// Returns a new gate, which shares nothing with this one.
    #[must_use]
    pub fn pace(self, between: Duration) -> Self {
        Self {
            target_of: self.target_of,
            pace: Pace(between.min(LONGEST)),
            state: Arc::default(),
        }
    }
}

impl RetryAfterGate {
    pub(super) fn target(&self, call: &impl ToolCall) -> u64 {
        (self.target_of)(call)
    }

    /// Whether a call may go out now. If not, it has to [join](Self::join).
    pub(super) fn admits(&self, target: u64) -> bool {
        self.look(target, Target::pass).unwrap_or(true)
    }

    /// How much longer the server asked not to be called.
    pub(super) fn held(&self, target: u64) -> Option<Held> {
        let held = self.look(target, |target, now| target.held(target.opens(), now));
        held.filter(|held| !held.wait.is_zero())
    }

    /// Takes the hint of a failure.
    pub(super) fn hear(&self, target: u64, failure: &Failure) {
        let hint = failure.retry_after().filter(|hint| !hint.is_zero());
        let Some(hint) = hint.filter(|_| failure.class().heals()) else {
            return;
        };
        let now = Instant::now();
        let until = now + hint.min(LONGEST);
        let class = failure.class();
        let wakers = {
            let mut targets = self.lock();
            let new = || Target::new(self.pace, now, class);
            let target = targets.get_or_add(target, now, new);
            let wakers = target.close(until, now, class);
            self.state.count.store(targets.len(), Relaxed);
            wakers
        };
        wakers.wake();
    }

    /// Gives a call a place, unless it may go out now. Fails if its turn would not come in time, or
    /// if the server asked for a longer wait than the call accepts.
    pub(super) fn join(&self, target: u64, wait_limit: WaitLimit) -> Result<Option<Ticket>, Held> {
        let number = self.state.tickets.fetch_add(1, Relaxed);
        let joined = self.look(target, |target, now| {
            if target.pass(now) {
                return Ok(None);
            }
            target.join(number, now, wait_limit).map(Some)
        });
        let held = joined.unwrap_or(Ok(None))?;
        Ok(held.map(|held| Ticket::new(self.clone(), target, number, held)))
    }

    /// Looks at a target with a hint.
    fn look<T>(&self, target: u64, look: impl FnOnce(&mut Target, Instant) -> T) -> Option<T> {
        if self.state.count.load(Relaxed) == 0 {
            return None;
        }
        let now = Instant::now();
        let mut targets = self.lock();
        let known = targets.get(target)?;
        if known.is_over(now) {
            targets.remove(target);
            self.state.count.store(targets.len(), Relaxed);
            return None;
        }
        Some(look(known, now))
    }

    fn lock(&self) -> MutexGuard<'_, Targets> {
        let targets = self.state.targets.lock();
        targets.unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for RetryAfterGate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RetryAfterGate")
            .field("pace", &self.pace.0)
            .finish_non_exhaustive()
    }
}
