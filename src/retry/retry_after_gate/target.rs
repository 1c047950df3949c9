use super::{pace::Pace, ticket::Held};
use crate::failure::Class;
use std::{
    collections::{BTreeMap, BTreeSet},
    task::Waker,
    time::Duration,
};
use tokio::time::Instant;

/// How late a call may be for its slot and still take it. A call that is later than that has slept with the
/// machine, and so have others: they get new slots, lest they go out all at once.
const LATE: Duration = Duration::from_millis(100);

/// What the gate knows of one target: until when it is closed, and which calls wait for it.
///
/// Each call that waits has a slot: a point in time at which it goes out by itself. No call has to be polled
/// for another one to go on.
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
    limit: Option<Instant>,
    waker: Option<Waker>,
}

/// What becomes of a call that waits.
#[derive(Debug)]
pub(in crate::retry) enum Turn {
    Go,
    /// Not before this.
    Wait(Instant),
    /// It does not fit any more.
    Refused(Held),
}

impl Target {
    /// A target for which no hint was heard.
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

    /// What holds up a call that has this slot.
    pub(super) fn held(&self, slot: Instant, now: Instant) -> Held {
        Held {
            class: self.class,
            wait: slot.saturating_duration_since(now),
        }
    }

    pub(super) fn is_awaited(&self) -> bool {
        !self.waiting.is_empty()
    }

    /// Whether it is as a target for which no hint was heard.
    pub(super) fn is_over(&self, now: Instant) -> bool {
        !self.is_awaited() && self.pace.is_over(self.opens, now)
    }

    /// Whether a call goes out now, ahead of nobody.
    pub(super) fn pass(&mut self, now: Instant) -> bool {
        let passes = !self.is_awaited() && now >= self.next;
        if passes {
            self.went(now);
        }
        passes
    }

    /// The first slot that a further call could have.
    fn first_slot(&self, now: Instant) -> Instant {
        let freed = self.free.range(now..).next();
        freed.map_or(self.end.max(now), |freed| *freed)
    }

    /// Gives a call the first slot, if that is before its limit.
    pub(super) fn join(
        &mut self,
        ticket: u64,
        now: Instant,
        limit: Option<Instant>,
    ) -> Result<Held, Held> {
        let slot = self.first_slot(now);
        let held = self.held(slot, now);
        if limit.is_some_and(|limit| slot >= limit) {
            return Err(held);
        }
        self.free = self.free.split_off(&now);
        if !self.free.remove(&slot) {
            self.end = slot + self.pace.interval(self.opens, slot);
        }
        let waiting = Waiting {
            slot,
            limit,
            waker: None,
        };
        self.waiting.insert(ticket, waiting);
        Ok(held)
    }

    /// Asks for the turn of a call.
    pub(super) fn turn(&mut self, ticket: u64, now: Instant, waker: &Waker) -> (Turn, Vec<Waker>) {
        let Some(call) = self.waiting.get_mut(&ticket) else {
            let held = self.held(self.first_slot(now), now);
            return (Turn::Refused(held), Vec::new());
        };
        if now < call.slot {
            call.waker = Some(waker.clone());
            return (Turn::Wait(call.slot), Vec::new());
        }
        let is_late = now.saturating_duration_since(call.slot) > LATE;
        self.waiting.remove(&ticket);
        self.went(now);
        let refused = if is_late {
            self.lay_out(self.next)
        } else {
            Vec::new()
        };
        self.settle();
        (Turn::Go, refused)
    }

    /// A call does not wait any more. The next one that comes gets its slot.
    pub(super) fn leave(&mut self, ticket: u64) {
        if let Some(left) = self.waiting.remove(&ticket) {
            self.free.insert(left.slot);
            self.settle();
        }
    }

    /// The server asked to wait until then. Gives the wakers of the calls that do not fit any more.
    pub(super) fn close(&mut self, until: Instant, class: Class) -> Vec<Waker> {
        if until <= self.opens {
            return Vec::new();
        }
        self.opens = until;
        self.class = class;
        self.next = self.next.max(until);
        self.lay_out(self.next)
    }

    fn went(&mut self, now: Instant) {
        self.next = self.opens.max(now + self.pace.interval(self.opens, now));
        if !self.is_awaited() {
            self.end = self.next;
        }
    }

    /// Gives all calls that wait new slots, in the order in which they came. None is moved forward: the task that
    /// waits for it would have to be woken.
    fn lay_out(&mut self, from: Instant) -> Vec<Waker> {
        let mut refused = Vec::new();
        let mut slot = from;
        self.waiting.retain(|_, call| {
            slot = slot.max(call.slot);
            if call.limit.is_some_and(|limit| slot >= limit) {
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
