use super::budget::SharedBudget;
use crate::{
    backoff::{Backoff, Jitter},
    call::{Method, ToolCall},
};
use std::{fmt, sync::Arc, time::Duration};

/// What a layer was told, shared by all its services and futures.
#[derive(Clone, Debug)]
pub(super) struct Policy {
    pub(super) max_attempts: u32,
    pub(super) waits: Waits,
    pub(super) jitter: Jitter,
    pub(super) deadline: Option<Duration>,
    pub(super) max_retry_after: Duration,
    pub(super) budget: Option<SharedBudget>,
    pub(super) trusts_server: bool,
    pub(super) repeat_ok: RepeatOk,
}

impl Policy {
    /// Whether a call may run twice, as far as anybody said.
    #[inline]
    pub(super) fn word_on(&self, call: &impl ToolCall) -> Word {
        match self.repeat_ok.ask(call) {
            Some(true) => Word::MayRunTwice,
            // Then a refusal is only what that server says, also of a tool that may not run twice.
            Some(false) | None if !self.trusts_server => Word::ServerIsNotTrusted,
            Some(false) => Word::NeverTwice,
            None if call.hints().may_repeat() => Word::Hinted,
            None => Word::Unsaid,
        }
    }
}

/// What somebody who knows said of running a call twice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Word {
    MayRunTwice,
    /// The hints allow it, for as long as they say so.
    Hinted,
    Unsaid,
    NeverTwice,
    /// Nothing, and what the server says does not count.
    ServerIsNotTrusted,
}

/// Where the waits of one call come from.
#[derive(Clone)]
pub(super) enum Waits {
    /// Ceilings, below which a wait is drawn.
    Ceilings(Backoff),
    /// Waits as they are.
    Own(Arc<dyn Fn() -> OwnWaits + Send + Sync>),
}

pub(super) type OwnWaits = Box<dyn Iterator<Item = Duration> + Send>;

impl Waits {
    pub(super) fn start(&self) -> OwnWaits {
        match self {
            Self::Ceilings(backoff) => Box::new(backoff.ceilings()),
            Self::Own(make) => make(),
        }
    }
}

impl fmt::Debug for Waits {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Ceilings(backoff) => backoff.fmt(f),
            Self::Own(_) => f.write_str("Own(..)"),
        }
    }
}

/// The user's own word on tools, by name.
#[derive(Clone, Default)]
pub(super) struct RepeatOk(pub(super) Option<Arc<AskUser>>);

impl RepeatOk {
    /// Tools only: a prompt or a resource may have a tool's name.
    #[inline]
    fn ask(&self, call: &impl ToolCall) -> Option<bool> {
        let ask = self.0.as_ref()?;
        (call.method() == Method::CallTool).then(|| ask(call.name()))?
    }
}

pub(super) type AskUser = dyn Fn(&str) -> Option<bool> + Send + Sync;

impl fmt::Debug for RepeatOk {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.0 {
            Some(_) => "RepeatOk(..)",
            None => "None",
        })
    }
}
