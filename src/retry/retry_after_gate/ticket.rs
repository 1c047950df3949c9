use super::{RetryAfterGate, target::Turn};
use crate::failure::Class;
use std::{task::Context, time::Duration};
use tokio::time::Instant;

/// The place of a waiting call. Dropping it releases the place.
#[derive(Debug)]
pub(in crate::retry) struct Ticket {
    gate: RetryAfterGate,
    target: u64,
    number: u64,
    held: Held,
}

/// Why a call waits, and for how long.
#[derive(Clone, Copy, Debug)]
pub(in crate::retry) struct Held {
    /// The class of the failure that asked to wait.
    pub(in crate::retry) class: Class,
    /// The time until the turn of the call.
    pub(in crate::retry) wait: Duration,
}

impl Ticket {
    pub(super) fn new(gate: RetryAfterGate, target: u64, number: u64, held: Held) -> Self {
        Self {
            gate,
            target,
            number,
            held,
        }
    }

    /// The reason and the wait of the call when it joined.
    pub(in crate::retry) fn held(&self) -> Held {
        self.held
    }

    /// Whether it is the call's turn. If not, the task has to ask again at the time of its slot. It
    /// is woken earlier if the call can no longer go out in time.
    pub(in crate::retry) fn turn(&self, cx: &Context<'_>) -> Turn {
        let now = Instant::now();
        let (turn, wakers) = {
            let mut targets = self.gate.lock();
            // A waiting call keeps its target, so this one was refused and is polled late.
            let Some(target) = targets.get(self.target) else {
                return Turn::Refused(Held {
                    wait: Duration::ZERO,
                    ..self.held
                });
            };
            target.turn(self.number, now, cx.waker())
        };
        wakers.wake();
        turn
    }
}

impl Drop for Ticket {
    fn drop(&mut self) {
        let mut targets = self.gate.lock();
        let left = targets.get(self.target);
        let wakers = left.map(|target| target.leave(self.number));
        drop(targets);
        drop(wakers);
    }
}
