//! What an observer is told of a call.

use super::{progress::Progress, settings::Settings};
use crate::{
    call::ToolCall,
    failure::{Failure, Stopped},
    observe::{CallRef, Event, Name},
};

/// The name of a call that its last attempt moves, if the user watches.
#[inline]
pub(super) fn name_kept(settings: &Settings, call: &impl ToolCall) -> Option<Box<Name>> {
    settings
        .observers
        .is_own()
        .then(|| Box::new(Name::of(call)))
}

impl<S, Req: ToolCall> Progress<S, Req> {
    pub(super) fn tell<'a>(&'a self, event: impl FnOnce(CallRef<'a>) -> Event<'a>) {
        let attempt = Some(self.attempt);
        let call = match &self.again {
            Ok((call, _)) => CallRef::new(call, attempt),
            Err(Some(name)) => name.call(attempt),
            // Only the user would be told of a last attempt.
            Err(None) => return,
        };
        self.settings.observers.tell(&event(call));
    }

    /// Tells of the limit that an attempt ran into, unless a layer within did.
    pub(super) fn tell_limit(&self, failure: &Failure) {
        let limit = failure.limit().filter(|_| self.settings.observers.is_own());
        if let Some(limit) = limit.filter(|limit| limit.tell()) {
            self.tell(|call| Event::LimitReached { call, limit });
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
