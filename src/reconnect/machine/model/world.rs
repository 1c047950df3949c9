//! Two callers and the tasks around a machine, and the effect of each event on them.

use super::event::{Event, Limits};
use crate::{
    backoff::{Backoff, Jitter},
    failure::{Class, Failure},
    reconnect::{
        machine::{Look, Machine, NextStep, Ticket, Turn},
        settings::Settings,
    },
};
use std::time::Duration;
use tokio::time::Instant;

const SECOND: Duration = Duration::from_secs(1);

#[derive(Clone, Debug)]
pub(super) enum Caller {
    Away,
    Waiting { ticket: Ticket, is_woken: bool },
    Calling { generation: u64 },
}

#[derive(Clone, Debug)]
pub(super) struct Task {
    pub(super) id: u64,
    pub(super) is_dialing: bool,
}

#[derive(Clone, Debug)]
pub(super) struct World {
    pub(super) machine: Machine<u64>,
    pub(super) callers: [Caller; 2],
    pub(super) calls_left: [u8; 2],
    pub(super) tasks: Vec<Task>,
    pub(super) probe: Option<(u64, u64)>,
    pub(super) now: Instant,
    pub(super) ticks_left: u8,
    pub(super) is_closed: bool,
    pub(super) resets_left: u8,
    pub(super) renewals_left: u8,
}

impl World {
    pub(super) fn new(now: Instant, limits: Limits, first_dial_is_fatal: bool) -> Self {
        let settings = Settings {
            backoff: Backoff::new(SECOND, SECOND).unwrap(),
            jitter: Jitter::none(),
            ready_timeout: 3 * SECOND,
            fail_fast_after: SECOND,
            give_up_limit: Some(2),
            first_dial_is_fatal,
            ..Settings::default()
        };
        Self {
            machine: Machine::new(&settings),
            callers: [Caller::Away, Caller::Away],
            calls_left: [limits.calls; 2],
            tasks: Vec::new(),
            probe: None,
            now,
            ticks_left: limits.ticks,
            is_closed: false,
            resets_left: limits.meddles,
            renewals_left: limits.meddles,
        }
    }

    pub(super) fn wake(&mut self) {
        for caller in &mut self.callers {
            if let Caller::Waiting { is_woken, .. } = caller {
                *is_woken = true;
            }
        }
    }

    pub(super) fn lose(&mut self, generation: u64) {
        let failure = Failure::connection("reset");
        let current = self.machine.connection().map(|(_, current)| current);
        let lost = self.machine.lost(generation, &failure, SECOND, self.now);
        let is_current = current == Some(generation);
        assert_eq!(lost.retired.is_some(), is_current, "a late loss counts");
        if is_current {
            self.wake();
        }
    }

    pub(super) fn doubt(&mut self, generation: u64, next: NextStep) {
        match next {
            NextStep::Keep => {}
            NextStep::Retire => self.lose(generation),
            NextStep::Probe(id) => {
                let is_old = self.probe.is_some_and(|(probed, _)| probed == generation);
                assert!(!is_old, "two probes of one connection");
                self.probe = Some((generation, id));
            }
        }
    }

    pub(super) fn calling(&mut self, at: usize) -> u64 {
        let caller = std::mem::replace(&mut self.callers[at], Caller::Away);
        let Caller::Calling { generation } = caller else {
            panic!("{caller:?}");
        };
        generation
    }

    pub(super) fn apply(&mut self, event: Event, limits: Limits) {
        let ready_timeout = 3 * SECOND;
        match event {
            Event::Call(at) => {
                self.calls_left[at] -= 1;
                let found = self.machine.connection().map(|(_, generation)| generation);
                self.callers[at] = if let Some(generation) = found {
                    Caller::Calling { generation }
                } else {
                    let ticket = self.machine.ticket(self.now, ready_timeout);
                    self.machine.join();
                    Caller::Waiting {
                        ticket,
                        is_woken: true,
                    }
                };
            }
            Event::Look(at) => self.look(at),
            Event::Leave(at) | Event::TooLate(at) => {
                self.machine.leave();
                self.callers[at] = Caller::Away;
            }
            Event::Answer(at) => {
                let generation = self.calling(at);
                self.machine.answered(generation);
            }
            Event::Lose(at) => {
                let generation = self.calling(at);
                self.lose(generation);
            }
            Event::TimeOut(at) => {
                let generation = self.calling(at);
                let next = self.machine.timed_out(generation);
                self.doubt(generation, next);
            }
            Event::GiveUp(at) => {
                let generation = self.calling(at);
                let next = self.machine.given_up(generation);
                self.doubt(generation, next);
            }
            Event::Turn(at) => {
                match self.machine.turn(self.tasks[at].id, self.now) {
                    Turn::Dial => self.tasks[at].is_dialing = true,
                    Turn::WaitUntil(due) => return assert!(due > self.now),
                    Turn::Stop => drop(self.tasks.remove(at)),
                }
                self.wake();
            }
            Event::Connect(at) => {
                let connection = (self.tasks[at].id, limits.can_be_probed);
                self.end_dial(at, Ok(connection));
            }
            Event::Refuse(at) => {
                self.end_dial(at, Err(Failure::new(Class::Unauthorized, "401")));
            }
            Event::Die(at) => {
                let task = self.tasks.remove(at);
                self.machine.dial_died(task.id);
                self.wake();
            }
            Event::StaleConnect(id) => {
                let before = format!("{:?}", self.machine);
                let result = Ok((id, true));
                let ended = self.machine.dial_ended(id, result, SECOND, self.now);
                assert_eq!(ended.unwanted.map(Result::ok), Some(Some(id)));
                self.machine.dial_died(id);
                assert_eq!(format!("{:?}", self.machine), before, "a late end counts");
            }
            Event::ProbeEnds(is_alive) => {
                let (generation, id) = self.probe.take().unwrap();
                if self.machine.probe_ended(generation, id, is_alive) {
                    self.lose(generation);
                }
            }
            Event::Tick => {
                self.ticks_left -= 1;
                self.now += SECOND;
            }
            Event::Reset => {
                self.resets_left -= 1;
                self.machine.reset(self.now);
                self.wake();
            }
            Event::Renew => {
                self.renewals_left -= 1;
                self.machine.renew(self.now);
                self.wake();
            }
            Event::Close => {
                self.is_closed = true;
                self.machine.close();
                self.wake();
            }
        }
    }

    fn end_dial(&mut self, at: usize, result: Result<(u64, bool), Failure>) {
        let id = self.tasks[at].id;
        let ended = self.machine.dial_ended(id, result, SECOND, self.now);
        match ended.next {
            Some(next) => {
                self.tasks[at] = Task {
                    id: next,
                    is_dialing: false,
                };
            }
            None => drop(self.tasks.remove(at)),
        }
        self.wake();
    }

    pub(super) fn look(&mut self, at: usize) {
        let Caller::Waiting { ticket, .. } = self.callers[at] else {
            panic!("nobody looks");
        };
        let waits = Caller::Waiting {
            ticket,
            is_woken: false,
        };
        self.callers[at] = match self.machine.look(&ticket, self.now) {
            Look::Use(_, generation) => Caller::Calling { generation },
            Look::Fail(_) => Caller::Away,
            Look::Wait => waits,
            Look::Dial(id) => {
                self.tasks.push(Task {
                    id,
                    is_dialing: false,
                });
                waits
            }
        };
        if !matches!(self.callers[at], Caller::Waiting { .. }) {
            self.machine.leave();
        }
    }
}
