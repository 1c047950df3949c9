use super::{
    Catalog, ClientCall,
    abandoned::{Abandoned, KeyedCall},
};
use crate::call::{IdempotencyKey, Method, ToolCall};

/// Which calls get an idempotency key.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Keys {
    #[default]
    None,
    /// Calls of tools that may not run twice, if the server says that it honours keys.
    IfHonoured,
    /// The same, even if the server does not announce it.
    Always,
}

impl Keys {
    /// Gives a call a key, if it has none. From then on it may be repeated even if it may have run,
    /// and a limit of time does not cancel its attempts at the server.
    pub(super) fn give(self, call: &mut ClientCall, abandoned: &Abandoned) -> Option<KeyedCall> {
        let honoured = match self {
            Self::None => return None,
            Self::IfHonoured => Some(call.honoured()?),
            Self::Always => None,
        };
        if call.method() != Method::CallTool || call.hints().may_repeat() {
            return None;
        }
        match call.idempotency_key() {
            None => call.set_key(&IdempotencyKey::random()),
            Some(Ok(_)) => {}
            // The server says what is wrong with the key.
            Some(Err(_)) => return None,
        }
        let keyed = abandoned.new_call();
        call.set_keyed(keyed.clone(), honoured);
        Some(keyed)
    }

    /// The key of a call, new or given, if it gets one.
    pub(super) fn key_for(
        self,
        mut call: ClientCall,
        abandoned: &Abandoned,
    ) -> Option<IdempotencyKey> {
        let is_given = self.give(&mut call, abandoned).is_some();
        // A key of the caller's own on a call that may be repeated anyway is for each round, too.
        let is_own = self == Self::Always && call.method() == Method::CallTool;
        (is_given || is_own)
            .then(|| call.idempotency_key()?.ok())
            .flatten()
    }
}

/// The key of a round of a call. A server that announces that it honours keys distinguishes rounds.
/// Another one could take the second round for a repeat of the first, so it gets a key for each.
pub(super) fn of_round(key: &IdempotencyKey, round: usize, catalog: &Catalog) -> IdempotencyKey {
    if round == 0 || catalog.honours_keys() {
        return key.clone();
    }
    key.of_round(round)
}
