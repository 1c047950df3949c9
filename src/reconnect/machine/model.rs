//! Checks the machine over all interleavings: two callers, their calls, the tasks of the dials, the
//! clock, and one shutdown, reset and renewal. Breadth first, so that the shortest way to a fault is
//! shown.

use super::{Look, Machine, NextStep, Ticket, Turn};
use crate::{
    backoff::{Backoff, Jitter},
    failure::{Class, Failure},
    reconnect::settings::Settings,
};
use std::{
    collections::{HashSet, VecDeque},
    time::Duration,
};
use tokio::time::Instant;

const SECOND: Duration = Duration::from_secs(1);

#[derive(Clone, Debug)]
enum Caller {
    Away,
    Waiting { ticket: Ticket, is_woken: bool },
    Calling { generation: u64 },
}

#[derive(Clone, Debug)]
struct Task {
    id: u64,
    is_dialing: bool,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Event {
    Call(usize),
    Look(usize),
    Leave(usize),
    TooLate(usize),
    Answer(usize),
    Lose(usize),
    TimeOut(usize),
    GiveUp(usize),
    Turn(usize),
    Connect(usize),
    Refuse(usize),
    Die(usize),
    StaleConnect(u64),
    ProbeEnds(bool),
    Tick,
    Reset,
    Renew,
    Close,
}

#[derive(Clone, Debug)]
struct World {
    machine: Machine<u64>,
    callers: [Caller; 2],
    calls_left: [u8; 2],
    tasks: Vec<Task>,
    probe: Option<(u64, u64)>,
    now: Instant,
    ticks_left: u8,
    is_closed: bool,
    resets_left: u8,
    renewals_left: u8,
}

/// What may happen besides calls and dials.
#[derive(Clone, Copy)]
struct Limits {
    calls: u8,
    ticks: u8,
    dials: u64,
    meddles: u8,
    can_be_probed: bool,
}

impl World {
    fn new(now: Instant, limits: Limits, first_dial_is_fatal: bool) -> Self {
        let settings = Settings {
            backoff: Backoff::new(SECOND, SECOND).unwrap(),
            jitter: Jitter::none(),
            patience: 3 * SECOND,
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

    /// Everything that may happen now.
    fn events(&self, limits: Limits) -> Vec<Event> {
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
            match task.is_dialing {
                false => events.push(Event::Turn(at)),
                true => events.extend([Event::Connect(at), Event::Refuse(at)]),
            }
            // Another task may be late with an older dial, too.
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

    fn wake(&mut self) {
        for caller in &mut self.callers {
            if let Caller::Waiting { is_woken, .. } = caller {
                *is_woken = true;
            }
        }
    }

    fn lose(&mut self, generation: u64) {
        let failure = Failure::connection("reset");
        let lost = self.machine.lost(generation, &failure, SECOND, self.now);
        if lost.retired.is_some() {
            self.wake();
        }
    }

    fn doubt(&mut self, generation: u64, next: NextStep) {
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

    fn calling(&mut self, at: usize) -> u64 {
        let caller = std::mem::replace(&mut self.callers[at], Caller::Away);
        let Caller::Calling { generation } = caller else {
            panic!("{caller:?}");
        };
        generation
    }

    fn apply(&mut self, event: Event, limits: Limits) {
        let patience = 3 * SECOND;
        match event {
            Event::Call(at) => {
                self.calls_left[at] -= 1;
                let found = self.machine.connection().map(|(_, generation)| generation);
                self.callers[at] = if let Some(generation) = found {
                    Caller::Calling { generation }
                } else {
                    let ticket = self.machine.ticket(self.now, patience);
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
            Event::Connect(at) | Event::Refuse(at) => {
                let id = self.tasks[at].id;
                let result = match event {
                    Event::Connect(_) => Ok((id, limits.can_be_probed)),
                    _ => Err(Failure::new(Class::Unauthorized, "401")),
                };
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
            Event::Die(at) => {
                let task = self.tasks.remove(at);
                self.machine.dial_died(task.id);
                self.wake();
            }
            Event::StaleConnect(id) => {
                let before = format!("{:?}", self.machine);
                let result = Ok((id, true));
                let ended = self.machine.dial_ended(id, result, SECOND, self.now);
                assert_eq!(ended.unwanted, Some(id));
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

    fn look(&mut self, at: usize) {
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

    fn check(&self) -> Result<(), &'static str> {
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

    fn key(&self) -> String {
        format!("{self:?}")
    }
}

/// Visits every state, and returns how many there are.
fn search(limits: Limits, first_dial_is_fatal: bool) -> usize {
    let first = World::new(Instant::now(), limits, first_dial_is_fatal);
    let mut seen = HashSet::from([hash(&first)]);
    let mut open = VecDeque::from([(first, Vec::new())]);
    while let Some((world, path)) = open.pop_front() {
        for event in world.events(limits) {
            let mut next = world.clone();
            next.apply(event, limits);
            if next.tasks.iter().any(|task| task.id > limits.dials) {
                continue;
            }
            if let Err(rule) = next.check() {
                panic!("{rule} after {path:?} and {event:?}: {next:?}");
            }
            if seen.insert(hash(&next)) {
                let mut path = path.clone();
                path.push(event);
                open.push_back((next, path));
            }
        }
    }
    seen.len()
}

fn hash(world: &World) -> u64 {
    use std::hash::{DefaultHasher, Hash, Hasher};
    let mut hasher = DefaultHasher::new();
    world.key().hash(&mut hasher);
    hasher.finish()
}

#[test]
fn no_interleaving_of_two_callers_breaks_a_rule_of_dialing() {
    let limits = Limits {
        calls: 2,
        ticks: 2,
        dials: 3,
        meddles: 0,
        can_be_probed: true,
    };
    let states = search(limits, false);
    assert!(states > 1_000, "{states}");
    println!("{states} states");
}

#[test]
fn no_interleaving_with_a_shutdown_a_reset_and_a_renewal_breaks_a_rule_of_dialing() {
    for first_dial_is_fatal in [false, true] {
        let limits = Limits {
            calls: 1,
            ticks: 1,
            dials: 3,
            meddles: 1,
            can_be_probed: false,
        };
        let states = search(limits, first_dial_is_fatal);
        assert!(states > 1_000, "{states}");
        println!("{states} states");
    }
}
