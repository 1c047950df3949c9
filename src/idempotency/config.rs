use super::store::Store;
use crate::call::{Arguments, IdempotencyKey, InvalidKey, ToolCall};
use std::{collections::HashMap, fmt, sync::Arc, time::Duration};

/// Layer configuration, shared by its services and futures.
pub(super) struct Config {
    pub(super) store: Arc<dyn Store>,
    /// A random number that identifies this layer, also among other processes.
    pub(super) number: u64,
    pub(super) times: Times,
    pub(super) largest: usize,
    pub(super) runs_unprotected: bool,
    pub(super) tools: HashMap<Box<str>, Tool>,
    pub(super) scope: Option<Arc<Scope>>,
}

/// Returns the identity of a call's caller.
pub(super) type Scope = dyn Fn(&dyn ToolCall) -> Option<Vec<u8>> + Send + Sync;

/// The settings of one tool.
#[derive(Clone, Debug, Default)]
pub(super) struct Tool {
    pub(super) is_required: bool,
    pub(super) argument: Option<Box<str>>,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Times {
    /// How long an outcome is kept.
    pub(super) keep: Duration,
    /// How long a claim holds without a renewal.
    pub(super) lease: Duration,
    /// How long a call waits for another run of its key.
    pub(super) wait: Duration,
    /// How long a call waits for the store.
    pub(super) store_timeout: Duration,
    /// How long a run may go on after its caller is gone.
    pub(super) alone: Duration,
}

impl Default for Times {
    fn default() -> Self {
        Self {
            keep: Duration::from_secs(24 * 60 * 60),
            lease: Duration::from_secs(30),
            wait: Duration::from_secs(55),
            store_timeout: Duration::from_secs(5),
            alone: Duration::from_secs(60 * 60),
        }
    }
}

impl Config {
    /// The key of a call: its own, else that in the named argument of its tool.
    #[inline]
    pub(super) fn key(&self, call: &impl ToolCall) -> Option<Result<IdempotencyKey, InvalidKey>> {
        let found = call.idempotency_key();
        found.or_else(|| self.key_of_argument(call))
    }

    #[inline]
    pub(super) fn key_of_argument(
        &self,
        call: &impl ToolCall,
    ) -> Option<Result<IdempotencyKey, InvalidKey>> {
        if self.tools.is_empty() {
            return None;
        }
        let path = self.tools.get(call.name())?.argument.as_ref()?;
        let arguments: Arguments<'_> = call.arguments()?;
        IdempotencyKey::of_argument(arguments, path)
    }

    #[inline]
    pub(super) fn requires_key(&self, call: &impl ToolCall) -> bool {
        !self.tools.is_empty()
            && self
                .tools
                .get(call.name())
                .is_some_and(|tool| tool.is_required)
    }

    /// The identity of the call's caller.
    pub(super) fn identity(&self, call: &impl ToolCall) -> Option<Vec<u8>> {
        match &self.scope {
            Some(scope) => scope(call),
            None => call.identity().map(std::borrow::Cow::into_owned),
        }
    }
}

impl fmt::Debug for Config {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Config")
            .field("store", &self.store)
            .field("number", &self.number)
            .field("times", &self.times)
            .field("largest", &self.largest)
            .field("runs_unprotected", &self.runs_unprotected)
            .field("tools", &self.tools)
            .field("has_scope", &self.scope.is_some())
            .finish()
    }
}
