//! Reports about a call to an observer and the log.

use super::{budget::SharedBudget, progress::Progress};
use crate::{
    call::{Pause, ToolCall},
    failure::{Failure, Stopped},
    ledger::{Notes, Retried},
    observe::{CallRef, Event},
};
use std::time::Duration;
use tokio::time::Instant;

impl<S, Req: ToolCall> Progress<S, Req> {
    pub(super) fn tell<'a>(&'a self, event: impl FnOnce(CallRef<'a>) -> Event<'a>) {
        if let Some(call) = self.next.shown(self.attempt()) {
            self.settings().observers.tell(&event(call));
        }
    }

    /// Reports a repeat, and notes it for the log.
    pub(super) fn note(&self, failure: &Failure, wait: Duration) {
        self.tell(|call| Event::RetryScheduled {
            call,
            failure,
            wait,
            budget_left: self.settings().budget.as_ref().and_then(SharedBudget::left),
        });
        let since = Instant::now();
        if let Some(progress) = self.next.call().and_then(ToolCall::progress) {
            progress.set_pause(Pause {
                class: failure.class(),
                asked: failure.retry_after(),
                wait,
                since,
            });
        }
        self.note_down(|notes| {
            notes.retries.push(Retried {
                class: failure.class(),
                code: failure.code().cloned(),
                wait,
                since,
            });
        });
    }

    /// Reports the limit that an attempt reached, unless an inner layer did.
    pub(super) fn tell_limit(&self, failure: &mut Failure) {
        if failure.is_limit_told() || !self.settings().observers.is_own() {
            return;
        }
        if let Some(limit) = failure.limit() {
            self.tell(|call| Event::LimitReached { call, limit });
            failure.set_limit_told();
        }
    }

    pub(super) fn tell_given_up(&self, failure: &Failure, stopped: Option<Stopped>) {
        if let Some(stopped) = stopped {
            self.tell(|call| Event::GaveUp {
                call,
                failure,
                stopped,
            });
        }
    }
}

impl<S, Req> Progress<S, Req> {
    /// Notes something for the log.
    pub(super) fn note_down(&self, write: impl FnOnce(&mut Notes)) {
        if let Some(ledger) = &self.ledger {
            ledger.note(write);
        }
    }
}
