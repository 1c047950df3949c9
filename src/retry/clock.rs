use super::decide::Room;
use crate::{
    call,
    failure::{Failure, Limit, LimitReached, Stopped},
    policy::Limits,
};
use std::time::Duration;
use tokio::time::Instant;

/// How long one call has run, and until when it may run.
pub(super) struct Clock {
    // Set at the first poll or the first failure, since a call that is answered at once needs no
    // clock.
    begun: Option<Instant>,
    // Set only with a deadline, which follows its progress. Boxed, since all futures are moved with it.
    running: Option<Box<call::Attempt>>,
}

impl Clock {
    #[inline]
    pub(super) fn new(running: Option<call::Attempt>) -> Self {
        Self {
            begun: None,
            running: running.map(Box::new),
        }
    }

    /// Starts the clock of the call's limits, at the first poll.
    #[inline]
    pub(super) fn begin(&mut self) -> Instant {
        *self.begun.get_or_insert_with(Instant::now)
    }

    /// Ends an attempt, so that its late reports no longer count.
    pub(super) fn end_attempt(&mut self) {
        if let Some(running) = &self.running {
            self.running = Some(Box::new(running.progress().attempt()));
        }
        self.begin();
    }

    /// When the call ends, by its progress so far. `None` if the time cannot be expressed.
    pub(super) fn deadline(&mut self, limits: &Limits) -> Option<Instant> {
        let deadline = limits.deadline?;
        let ceiling = limits.ceiling.max(deadline);
        call::due(self.begin(), self.reports(), deadline, ceiling)
    }

    /// Until when a further attempt may begin, and the reason.
    pub(super) fn last_begin(&mut self, limits: &Limits) -> Option<(Instant, Stopped)> {
        let window = limits.retry_window;
        let window = window.and_then(|window| self.begin().checked_add(window));
        match (window, self.deadline(limits)) {
            (Some(window), deadline) if deadline.is_none_or(|deadline| window < deadline) => {
                Some((window, Stopped::Window))
            }
            (_, deadline) => deadline.map(|deadline| (deadline, Stopped::Deadline)),
        }
    }

    /// Like `last_begin`, but does not start the clock.
    pub(super) fn last_begin_so_far(&mut self, limits: &Limits) -> Option<(Instant, Stopped)> {
        let begun = self.begun;
        let last = self.last_begin(limits);
        self.begun = begun;
        last
    }

    /// The limit that a call reaches at its deadline.
    pub(super) fn reached(&mut self, limits: &Limits) -> LimitReached {
        let begun = self.begin();
        let deadline = limits.deadline.unwrap_or_default();
        let ceiling = limits.ceiling.max(deadline);
        if call::ends_at_ceiling(begun, self.reports(), deadline, ceiling) {
            LimitReached::new(Limit::Ceiling, ceiling)
        } else {
            LimitReached::new(Limit::Deadline, deadline)
        }
    }

    /// The time left in the retry window and before the deadline.
    pub(super) fn rooms(&mut self, limits: &Limits, failure: &Failure) -> [Room; 2] {
        let now = Instant::now();
        // An attempt that reached its limit would need that time again.
        let needed = failure.limit().map_or(Duration::ZERO, LimitReached::value);
        let elapsed = now.saturating_duration_since(self.begin());
        let window = limits.retry_window;
        let deadline = self.deadline(limits);
        [
            Room {
                left: deadline.map(|deadline| deadline.saturating_duration_since(now)),
                needed: Duration::ZERO,
                stopped: Stopped::Deadline,
            },
            Room {
                left: window.map(|window| window.saturating_sub(elapsed)),
                needed,
                stopped: Stopped::Window,
            },
        ]
    }

    fn reports(&self) -> Option<&call::Progress> {
        self.running.as_deref().map(call::Attempt::progress)
    }
}
