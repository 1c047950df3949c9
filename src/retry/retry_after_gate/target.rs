use super::{pace::Pace, ticket::Held};
use crate::failure::Class;
use std::{
    collections::{BTreeMap, BTreeSet},
    task::Waker,
    time::Duration,
};
use tokio::time::Instant;

/// How late a call may be for its slot. If it is later, the machine was probably suspended. Then all
/// waiting calls get new slots, so that they do not go out all at once.
const LATE: Duration = Duration::from_millis(100);

/// The state of one target: until when it is closed, and which calls wait for it.
///
/// Each waiting call has a slot: the time at which it goes out. It does not depend on other calls
/// being polled.
#[derive(Debug)]
pub(super) struct Target {
    pace: Pace,
    opens: Instant,
    class: Class,
    // When a call may go out if nothing waits.
    next: Instant,
    // The first slot behind all others.
    end: Instant,
    // Slots of calls that were dropped.
    free: BTreeSet<Instant>,
    waiting: BTreeMap<u64, Waiting>,
}

#[derive(Debug)]
struct Waiting {
    slot: Instant,
    wait_limit: WaitLimit,
    waker: Option<Waker>,
}

/// The limits of a call's wait.
#[derive(Clone, Copy, Debug)]
pub(in crate::retry) struct WaitLimit {
    /// The call has to go out before this.
    pub(in crate::retry) limit: Option<Instant>,
    /// The longest wait that the server may ask for.
    pub(in crate::retry) longest: Duration,
}

impl WaitLimit {
    /// Whether a call may wait until this slot, and for as long as the server asks.
    fn covers(self, slot: Instant, asked: Duration) -> bool {
        asked <= self.longest && self.limit.is_none_or(|limit| slot < limit)
    }
}

/// Wakers to wake and to drop outside of the lock, since both may run code of an executor.
#[derive(Debug, Default)]
#[must_use]
pub(super) struct Wakers {
    refused: Vec<Waker>,
    old: Option<Waker>,
}

impl Wakers {
    /// Wakes the calls that no longer fit.
    pub(super) fn wake(self) {
        self.refused.into_iter().for_each(Waker::wake);
    }
}

/// The state of a waiting call.
#[derive(Debug)]
pub(in crate::retry) enum Turn {
    Go,
    /// Not before this.
    Wait(Instant),
    /// It no longer fits.
    Refused(Held),
}

impl Target {
    /// A target without a hint.
    pub(super) fn new(pace: Pace, now: Instant, class: Class) -> Self {
        Self {
            pace,
            opens: now,
            class,
            next: now,
            end: now,
            free: BTreeSet::new(),
            waiting: BTreeMap::new(),
        }
    }

    /// Until when the server asked to wait.
    pub(super) fn opens(&self) -> Instant {
        self.opens
    }

    /// How much longer it asked to wait.
    pub(super) fn asked(&self, now: Instant) -> Duration {
        self.opens.saturating_duration_since(now)
    }

    /// The failure class and the wait of a call with this slot.
    pub(super) fn held(&self, slot: Instant, now: Instant) -> Held {
        Held {
            class: self.class,
            wait: slot.saturating_duration_since(now),
        }
    }

    pub(super) fn is_awaited(&self) -> bool {
        !self.waiting.is_empty()
    }

    /// Whether its wait is over, and no call waits for it.
    pub(super) fn has_opened(&self, now: Instant) -> bool {
        !self.is_awaited() && now >= self.opens
    }

    /// Whether it is in the same state as a target without a hint.
    pub(super) fn is_over(&self, now: Instant) -> bool {
        !self.is_awaited() && self.pace.is_over(self.opens, now)
    }

    /// Whether a call may go out now, since no call is ahead of it.
    pub(super) fn pass(&mut self, now: Instant) -> bool {
        let passes = !self.is_awaited() && now >= self.next;
        if passes {
            self.went(now);
        }
        passes
    }

    /// The first slot for a further call.
    fn first_slot(&self, now: Instant) -> Instant {
        let freed = self.free.range(now..).next();
        freed.map_or(self.end.max(now), |freed| *freed)
    }

    /// Gives a call the first free slot, if it may wait that long.
    pub(super) fn join(
        &mut self,
        ticket: u64,
        now: Instant,
        wait_limit: WaitLimit,
    ) -> Result<Held, Held> {
        let slot = self.first_slot(now);
        let held = self.held(slot, now);
        if !wait_limit.covers(slot, self.asked(now)) {
            return Err(held);
        }
        self.free = self.free.split_off(&now);
        if !self.free.remove(&slot) {
            self.end = slot + self.pace.interval(self.opens, slot);
        }
        let waiting = Waiting {
            slot,
            wait_limit,
            waker: None,
        };
        self.waiting.insert(ticket, waiting);
        Ok(held)
    }

    /// Whether it is the turn of a call.
    pub(super) fn turn(&mut self, ticket: u64, now: Instant, waker: &Waker) -> (Turn, Wakers) {
        let mut wakers = Wakers::default();
        let Some(call) = self.waiting.get_mut(&ticket) else {
            let held = self.held(self.first_slot(now), now);
            return (Turn::Refused(held), wakers);
        };
        let slot = call.slot;
        if now < slot {
            wakers.old = call.waker.replace(waker.clone());
            return (Turn::Wait(slot), wakers);
        }
        wakers.old = call.waker.take();
        self.waiting.remove(&ticket);
        self.went(now);
        if now.saturating_duration_since(slot) > LATE {
            wakers.refused = self.lay_out(self.next, now);
        }
        self.settle();
        (Turn::Go, wakers)
    }

    /// A call stops waiting. The next one that comes gets its slot.
    pub(super) fn leave(&mut self, ticket: u64) -> Wakers {
        let mut wakers = Wakers::default();
        if let Some(left) = self.waiting.remove(&ticket) {
            wakers.old = left.waker;
            self.free.insert(left.slot);
            self.settle();
        }
        wakers
    }

    /// The server asked to wait until then.
    pub(super) fn close(&mut self, until: Instant, now: Instant, class: Class) -> Wakers {
        let mut wakers = Wakers::default();
        if until > self.opens {
            self.opens = until;
            self.class = class;
            self.next = self.next.max(until);
            wakers.refused = self.lay_out(self.next, now);
        }
        wakers
    }

    fn went(&mut self, now: Instant) {
        self.next = self.opens.max(now + self.pace.interval(self.opens, now));
        if !self.is_awaited() {
            self.end = self.next;
        }
    }

    /// Gives all waiting calls new slots, in the order in which they came. None is moved forward,
    /// since its waiting task would have to be woken. Returns the wakers of the calls that no longer
    /// fit.
    fn lay_out(&mut self, from: Instant, now: Instant) -> Vec<Waker> {
        let asked = self.asked(now);
        let mut refused = Vec::new();
        let mut slot = from;
        self.waiting.retain(|_, call| {
            slot = slot.max(call.slot);
            if !call.wait_limit.covers(slot, asked) {
                refused.extend(call.waker.take());
                return false;
            }
            call.slot = slot;
            slot += self.pace.interval(self.opens, slot);
            true
        });
        self.free.clear();
        self.end = slot;
        refused
    }

    fn settle(&mut self) {
        if !self.is_awaited() {
            self.free.clear();
            self.end = self.next;
        }
    }
}
