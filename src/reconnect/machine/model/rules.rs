//! The possible next events, and the invariants.

use super::{
    event::{Event, Limits},
    world::{Caller, World},
};

impl World {
    /// All events that may happen now.
    pub(super) fn events(&self, limits: Limits) -> Vec<Event> {
        let mut events = Vec::new();
        for (at, caller) in self.callers.iter().enumerate() {
            match caller {
                Caller::Away if self.calls_left[at] > 0 => events.push(Event::Call(at)),
                Caller::Away => {}
                Caller::Waiting { ticket, is_woken } => {
                    if *is_woken {
                        events.push(Event::Look(at));
                    }
                    events.push(Event::Leave(at));
                    if self.now >= ticket.until {
                        events.push(Event::TooLate(at));
                    }
                }
                Caller::Calling { .. } => events.extend([
                    Event::Answer(at),
                    Event::Lose(at),
                    Event::TimeOut(at),
                    Event::GiveUp(at),
                ]),
            }
        }
        for (at, task) in self.tasks.iter().enumerate() {
            events.push(Event::Die(at));
            if task.is_dialing {
                events.extend([Event::Connect(at), Event::Refuse(at)]);
            } else {
                events.push(Event::Turn(at));
            }
            // Another task may also report an older dial late.
            if task.id > 1 {
                events.push(Event::StaleConnect(task.id - 1));
            }
        }
        if self.probe.is_some() {
            events.extend([Event::ProbeEnds(true), Event::ProbeEnds(false)]);
        }
        if self.ticks_left > 0 {
            events.push(Event::Tick);
        }
        if self.resets_left > 0 {
            events.push(Event::Reset);
        }
        if self.renewals_left > 0 {
            events.push(Event::Renew);
        }
        if limits.meddles > 0 && !self.is_closed {
            events.push(Event::Close);
        }
        events
    }

    pub(super) fn check(&self) -> Result<(), &'static str> {
        let dialing = self.tasks.iter().filter(|task| task.is_dialing).count();
        let holds = |holds: bool, rule| if holds { Ok(()) } else { Err(rule) };
        holds(dialing <= 1, "two dials at once")?;
        let current = self.machine.dialing();
        let has_task = |id| self.tasks.iter().any(|task| task.id == id);
        holds(current.is_none_or(has_task), "a dial without a task")?;
        let is_stuck = |caller: &Caller| {
            matches!(
                caller,
                Caller::Waiting {
                    is_woken: false,
                    ..
                }
            )
        };
        let nobody_is_stuck = current.is_some() || !self.callers.iter().any(is_stuck);
        holds(nobody_is_stuck, "a caller waits and nobody dials")?;
        let is_closed = self.machine.state().is_closed();
        holds(is_closed == self.is_closed, "closed does not stay closed")?;
        let waits = |caller: &&Caller| matches!(caller, Caller::Waiting { .. });
        let waiting = self.callers.iter().filter(waits).count();
        holds(waiting == self.machine.waiting(), "the count is wrong")
    }
}
