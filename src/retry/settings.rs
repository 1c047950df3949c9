use super::{RetryAfterGate, budget::SharedBudget, verdict::Overrides};
use crate::{
    backoff::{Jitter, Waits},
    call::{CallOptions, Method, ToolCall},
    observe::Observers,
    policy::Limits,
};
use std::{fmt, sync::Arc, time::Duration};

/// The longest hint that is waited for, unless it is set, or the retry window is shorter.
const MAX_RETRY_AFTER: Duration = Duration::from_secs(5 * 60);

/// What applies to a call: the layer's settings, or those of a policy in it.
#[derive(Clone, Debug)]
pub(super) struct Settings {
    pub(super) limits: Limits,
    pub(super) max_attempts: u32,
    pub(super) waits: Waits,
    pub(super) jitter: Jitter,
    // Only if it is set: else it follows the retry window.
    pub(super) max_retry_after: Option<Duration>,
    pub(super) budget: Option<SharedBudget>,
    pub(super) trusts_server: bool,
    // The policy's word, which goes before `repeat_ok`.
    pub(super) may_run_twice: Option<bool>,
    pub(super) repeat_ok: RepeatOk,
    // The word of the layer's own policy, if nobody said anything of the tool.
    pub(super) else_repeat_ok: Option<bool>,
    pub(super) overrides: Overrides,
    pub(super) observers: Observers,
    pub(super) gate: Option<RetryAfterGate>,
}

impl Settings {
    /// The same for a call with settings of its own.
    pub(super) fn with(&self, options: &CallOptions) -> Self {
        Self {
            limits: self.limits.with(options),
            max_attempts: options.max_attempts.unwrap_or(self.max_attempts),
            may_run_twice: options.repeat_ok.or(self.may_run_twice),
            ..self.clone()
        }
    }

    /// The longest hint that is waited for.
    pub(super) fn max_retry_after(&self) -> Duration {
        self.max_retry_after.unwrap_or_else(|| {
            let window = self.limits.retry_window.unwrap_or(MAX_RETRY_AFTER);
            window.min(MAX_RETRY_AFTER)
        })
    }

    /// Whether a call may run twice, as far as anybody said.
    #[inline]
    pub(super) fn word_on(&self, call: &impl ToolCall) -> Word {
        let said = self.may_run_twice.or_else(|| self.repeat_ok.ask(call));
        match said.or(self.else_repeat_ok) {
            Some(true) => Word::MayRunTwice,
            // The user's word is on runs, and the server makes one.
            _ if self.trusts_server && call.runs_once() => Word::RunsOnce,
            // Then a refusal is only what that server says, also of a tool that may not run twice.
            Some(false) | None if !self.trusts_server => Word::ServerIsNotTrusted,
            Some(false) => Word::NeverTwice,
            None if call.hints().may_repeat() => Word::Hinted,
            None => Word::Unsaid,
        }
    }
}

/// What somebody who knows said of running a call twice, the strictest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Word {
    /// Nothing, and what the server says does not count.
    ServerIsNotTrusted,
    NeverTwice,
    Unsaid,
    /// The server runs the call once, however often it is sent.
    RunsOnce,
    /// The hints allow it, for as long as they say so.
    Hinted,
    MayRunTwice,
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
