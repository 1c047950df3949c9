use crate::{
    call::{Method, ToolCall},
    ledger::{self, CallId},
};

/// The call that an event is about.
#[derive(Clone, Copy, Debug)]
pub struct CallRef<'a> {
    method: Method,
    name: &'a str,
    id: Option<CallId>,
    attempt: Option<u32>,
    is_listed: Option<bool>,
}

impl<'a> CallRef<'a> {
    /// The call that is being polled.
    pub(crate) fn new(call: &'a impl ToolCall, attempt: Option<u32>) -> Self {
        Self {
            is_listed: call.is_listed(),
            ..Self::of(call.method(), call.name(), attempt)
        }
    }

    pub(crate) fn of(method: Method, name: &'a str, attempt: Option<u32>) -> Self {
        Self {
            method,
            name,
            id: ledger::known_id(),
            attempt,
            is_listed: None,
        }
    }

    getters! {
        /// The kind of request.
        method: Method;
        /// The tool's name, the URI, or the prompt's name, as the caller gave it.
        name: &'a str;
        /// The id of the call's log line. `None` without a [log](crate::call_log), for a layer inside
        /// [`Classify`](crate::classify::Classify), and for a heartbeat, which is sent outside the
        /// layers.
        id: Option<CallId>;
        /// Whether the server lists what is called. `None` if that is unknown.
        is_listed: Option<bool>;
        /// The number of the attempt, from 1. `None` if the layer does not count attempts.
        attempt: Option<u32>;
    }
}

/// The part of a call that a layer keeps after it has passed the call on.
pub(crate) struct Name {
    method: Method,
    text: Box<str>,
    is_listed: Option<bool>,
}

impl Name {
    pub(crate) fn of(call: &impl ToolCall) -> Self {
        Self {
            method: call.method(),
            text: call.name().into(),
            is_listed: call.is_listed(),
        }
    }

    pub(crate) fn call(&self, attempt: Option<u32>) -> CallRef<'_> {
        CallRef {
            is_listed: self.is_listed,
            ..CallRef::of(self.method, &self.text, attempt)
        }
    }
}
