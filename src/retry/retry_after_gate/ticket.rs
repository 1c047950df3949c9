use super::{RetryAfterGate, target::Turn};
use crate::failure::Class;
use std::{
    task::{Context, Waker},
    time::Duration,
};
use tokio::time::Instant;

/// The place of a call that waits. Dropping it gives the place back.
#[derive(Debug)]
pub(in crate::retry) struct Ticket {
    gate: RetryAfterGate,
    target: u64,
    number: u64,
    held: Held,
}

/// What holds a call up.
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

    /// What held the call up when it came.
    pub(in crate::retry) fn held(&self) -> Held {
        self.held
    }

    /// Asks whether it is the call's turn. If not, the task is woken when the call does not fit any more; it has
    /// to ask again at its slot.
    pub(in crate::retry) fn turn(&self, cx: &Context<'_>) -> Turn {
        let now = Instant::now();
        let (turn, refused) = {
            let mut targets = self.gate.lock();
            // Only calls keep a target from being forgotten, and this may be none any more.
            let Some(target) = targets.get_mut(&self.target) else {
                return Turn::Go;
            };
            target.turn(self.number, now, cx.waker())
        };
        refused.into_iter().for_each(Waker::wake);
        turn
    }
}

impl Drop for Ticket {
    fn drop(&mut self) {
        if let Some(target) = self.gate.lock().get_mut(&self.target) {
            target.leave(self.number);
        }
    }
}
