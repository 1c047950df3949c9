//! Waits because of another call's hint.

use super::{
    future::Timer,
    next_attempt::NextAttempt,
    progress::Progress,
    retry_after_gate::{Held, Ticket, Turn, WaitLimit},
};
use crate::{
    call::ToolCall,
    failure::{Failure, Stopped},
    ledger,
    observe::Event,
    window,
};
use std::{
    task::{Context, Poll, ready},
    time::Duration,
};
use tokio::time::Instant;

impl<S, Req: ToolCall> Progress<S, Req> {
    /// Passes the hint of a failure to the gate, unless the hint came from a gate and not from the
    /// server.
    pub(super) fn hear(&self, failure: &Failure) {
        let gate = self.settings().gate.as_ref();
        if let Some(gate) = gate.filter(|_| !failure.is_held_back()) {
            gate.hear(self.next.target(gate), failure);
        }
    }

    /// How much longer the server asks not to be called.
    pub(super) fn asked(&self) -> Option<Duration> {
        let gate = self.settings().gate.as_ref()?;
        gate.held(self.next.target(gate)).map(|held| held.wait)
    }

    /// Waits until the gate lets the next attempt out. The ticket keeps the call's place. Returns
    /// the final failure and the reason if its turn does not come in time.
    #[inline]
    pub(super) fn pass_held(
        &mut self,
        ticket: &mut Option<Box<Ticket>>,
        timer: &mut Timer,
        cx: &mut Context<'_>,
    ) -> Poll<Result<(), (Failure, Stopped)>> {
        if self.settings().gate.is_none() {
            return Poll::Ready(Ok(()));
        }
        self.poll_gate(ticket, timer, cx)
    }

    fn poll_gate(
        &mut self,
        ticket: &mut Option<Box<Ticket>>,
        timer: &mut Timer,
        cx: &mut Context<'_>,
    ) -> Poll<Result<(), (Failure, Stopped)>> {
        self.begin();
        let held = match ticket {
            Some(ticket) => ticket,
            None => match self.join() {
                Ok(Some(joined)) => ticket.insert(Box::new(joined)),
                Ok(None) => return Poll::Ready(Ok(())),
                Err(refused) => return Poll::Ready(Err(self.refuse(refused))),
            },
        };
        let passed = loop {
            match held.turn(cx) {
                Turn::Go => break Ok(()),
                Turn::Wait(slot) => ready!(timer.poll(|| Some(slot), cx)),
                Turn::Refused(refused) => break Err(refused),
            }
        };
        self.note_down(|notes| notes.held.end());
        Poll::Ready(passed.map_err(|refused| self.refuse(refused)))
    }

    fn join(&mut self) -> Result<Option<Ticket>, Held> {
        let limit = self.last_begin().map(|(at, _)| at);
        let settings = self.settings();
        let Some(gate) = &settings.gate else {
            return Ok(None);
        };
        let longest = settings.max_retry_after();
        let joined = gate.join(self.next.target(gate), WaitLimit { limit, longest })?;
        if let Some(ticket) = &joined {
            self.note_down(|notes| notes.held.begin());
            let Held { class, wait } = ticket.held();
            self.tell(|call| Event::CallHeld { call, class, wait });
        }
        Ok(joined)
    }

    /// The failure and the reason of a call whose turn does not come in time.
    fn refuse(&mut self, refused: Held) -> (Failure, Stopped) {
        let turn = Instant::now() + refused.wait;
        let missed = self.last_begin().filter(|(at, _)| turn >= *at);
        let stopped = missed.map_or(Stopped::HintTooLong, |(_, stopped)| stopped);
        let failure = self.take_kept().unwrap_or_else(|| not_sent(refused));
        (held_back(failure, refused), stopped)
    }

    /// Whether a hint came while the call waited for the service.
    pub(super) fn is_held_again(&self) -> bool {
        self.asked().is_some()
    }
}

impl<S, Req: ToolCall> Progress<S, Req> {
    /// The gate for an attempt that waits for the service in a layer below.
    #[inline]
    pub(super) fn gate_below(&mut self) -> Option<Box<window::Gate>> {
        self.settings().gate.as_ref()?;
        self.gate_for_below()
    }

    #[cold]
    fn gate_for_below(&mut self) -> Option<Box<window::Gate>> {
        let limit = self.last_begin_so_far();
        let settings = self.settings();
        let gate = settings.gate.clone()?;
        let target = self.next.target(&gate);
        let (longest, ledger) = (settings.max_retry_after(), self.ledger.clone());
        Some(Box::new(move || {
            let note = |write: fn(&mut ledger::Held)| {
                if let Some(ledger) = &ledger {
                    ledger.note(|notes| write(&mut notes.held));
                }
            };
            note(ledger::Held::end);
            let Some(held) = gate.held(target) else {
                return Ok(None);
            };
            let turn = Instant::now() + held.wait;
            let stopped = match limit {
                Some((at, stopped)) if turn >= at => stopped,
                _ if held.wait > longest => Stopped::HintTooLong,
                _ => {
                    note(ledger::Held::begin);
                    return Ok(Some(held.wait));
                }
            };
            let mut failure = not_sent(held);
            failure.set_stopped(stopped);
            Err(failure)
        }))
    }
}

/// The failure of a call that was not sent, since the server asked another call to wait.
fn not_sent(held: Held) -> Failure {
    let text = "the server asked an earlier call to wait, and this one was not sent";
    held_back(Failure::new(held.class, text).not_sent(), held)
}

fn held_back(failure: Failure, held: Held) -> Failure {
    let mut failure = failure.with_retry_after(held.wait);
    failure.set_held_back();
    failure
}

/// The failure of a call whose service was not ready in time.
pub(super) fn unready() -> Failure {
    Failure::timeout("the tool service was not ready in time").not_sent()
}

impl<S: Clone, Req> Progress<S, Req> {
    /// Releases the service that was made ready, since it may hold a permit that other calls need.
    pub(super) fn give_back(&mut self) {
        if let NextAttempt::Kept(_, service) = &mut self.next {
            *service = service.clone();
        }
    }
}
