//! Checks the machine over all interleavings of two callers, their calls, the tasks of the dials, the
//! clock, and one shutdown, reset and renewal. The search is breadth first, so it shows the shortest
//! way to a fault.

mod event;
mod rules;
mod world;

use self::{event::Limits, world::World};
use std::{
    collections::{HashSet, VecDeque},
    hash::{DefaultHasher, Hash, Hasher},
};
use tokio::time::Instant;

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
    let mut hasher = DefaultHasher::new();
    format!("{world:?}").hash(&mut hasher);
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
    }
}
