//! What an observer is told of a call.

use super::progress::Progress;
use crate::{
    call::ToolCall,
    failure::{Failure, Stopped},
    observe::{CallRef, Event},
};

impl<S, Req: ToolCall> Progress<S, Req> {
    pub(super) fn tell<'a>(&'a self, event: impl FnOnce(CallRef<'a>) -> Event<'a>) {
        if let Some(call) = self.again.shown(self.attempt()) {
            self.settings().observers.tell(&event(call));
        }
    }

    /// Tells of the limit that an attempt ran into, unless a layer within did.
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
