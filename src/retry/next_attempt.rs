use super::{RetryAfterGate, settings::Settings};
use crate::{
    call::{HintSource, Hints, ToolCall},
    observe::{CallRef, Name},
};

/// The call and the service for the next attempt.
pub(super) enum NextAttempt<S, Req> {
    /// The call, and the service that takes its next attempt.
    Kept(Req, S),
    /// The last permitted attempt has moved the call.
    Moved(Moved),
}

/// The part of a call that is kept when its last attempt moves it.
pub(super) struct Moved {
    // Set only if the user gave an observer.
    name: Option<Box<Name>>,
    // Set only for a call whose hints may change.
    hints: Option<HintSource>,
    // Used only with a gate.
    target: u64,
}

impl Moved {
    #[inline]
    pub(super) fn of(call: &impl ToolCall, settings: &Settings, asks_hints: bool) -> Self {
        let is_watched = settings.observers.is_own();
        Self {
            name: is_watched.then(|| Box::new(Name::of(call))),
            hints: asks_hints.then(|| call.hint_source()).flatten(),
            target: settings.gate.as_ref().map_or(0, |gate| gate.target(call)),
        }
    }
}

impl<S, Req: ToolCall> NextAttempt<S, Req> {
    /// The call, unless it was moved.
    #[inline]
    pub(super) fn call(&self) -> Option<&Req> {
        match self {
            Self::Kept(call, _) => Some(call),
            Self::Moved(_) => None,
        }
    }

    /// The call's target at the gate.
    pub(super) fn target(&self, gate: &RetryAfterGate) -> u64 {
        match self {
            Self::Kept(call, _) => gate.target(call),
            Self::Moved(moved) => moved.target,
        }
    }

    /// The current hints, if they are known.
    pub(super) fn hints(&self) -> Option<Hints> {
        match self {
            Self::Kept(call, _) => Some(match call.hint_source() {
                Some(source) => source.hints(),
                None => call.hints(),
            }),
            Self::Moved(moved) => moved.hints.as_ref().map(HintSource::hints),
        }
    }

    /// The call for an observer. For the last attempt, `None` unless the user gave an observer.
    pub(super) fn shown(&self, attempt: u32) -> Option<CallRef<'_>> {
        let attempt = Some(attempt);
        match self {
            Self::Kept(call, _) => Some(CallRef::new(call, attempt)),
            Self::Moved(moved) => moved.name.as_ref().map(|name| name.call(attempt)),
        }
    }
}
