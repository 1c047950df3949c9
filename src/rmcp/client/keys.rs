use super::ClientCall;
use crate::call::{IdempotencyKey, Method, ToolCall};

/// Which calls get an idempotency key.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Keys {
    #[default]
    None,
    /// Calls of tools that may not run twice, if the server says that it honours keys.
    IfHonoured,
    /// The same, whatever the server says.
    Always,
}

impl Keys {
    /// Gives a call a key, if it has none. From then on it may be repeated even if it may have run,
    /// and its abandoned attempts are kept here.
    pub(super) fn give(self, call: &mut ClientCall) -> Option<super::attic::Attic> {
        let is_wanted = match self {
            Self::None => false,
            Self::IfHonoured => call.note_honoured(),
            Self::Always => true,
        };
        if !is_wanted || call.method() != Method::CallTool || call.hints().may_repeat() {
            return None;
        }
        match call.idempotency_key() {
            None => call.set_key(&IdempotencyKey::random()),
            Some(Ok(_)) => {}
            // The server says what is wrong with the key.
            Some(Err(_)) => return None,
        }
        Some(call.keep_abandoned())
    }

    /// The key of a call, new or given, if it gets one.
    pub(super) fn key_for(self, mut call: ClientCall) -> Option<IdempotencyKey> {
        self.give(&mut call)?;
        call.idempotency_key()?.ok()
    }
}
