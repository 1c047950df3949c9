use super::{RetryAfterGate, budget::SharedBudget, verdict::Overrides};
use crate::{
    backoff::{Jitter, Waits},
    call::{CallOptions, Method, ToolCall},
    observe::Observers,
    policy::Limits,
};
use std::{fmt, sync::Arc, time::Duration};

/// The default limit of hints, if the retry window is not shorter.
const MAX_RETRY_AFTER: Duration = Duration::from_secs(5 * 60);

/// The settings of a call, from the layer or from a policy in it.
#[derive(Clone, Debug)]
pub(super) struct Settings {
    pub(super) limits: Limits,
    pub(super) max_attempts: u32,
    pub(super) waits: Waits,
    pub(super) jitter: Jitter,
    // Set only by the user. Otherwise it follows the retry window.
    pub(super) max_retry_after: Option<Duration>,
    pub(super) budget: Option<SharedBudget>,
    pub(super) trusts_server: bool,
    // The policy's setting, which has precedence over `repeat_ok`.
    pub(super) may_run_twice: Option<bool>,
    pub(super) repeat_ok: RepeatOk,
    // The setting of the layer's own policy, which comes last.
    pub(super) else_repeat_ok: Option<bool>,
    pub(super) overrides: Overrides,
    pub(super) observers: Observers,
    pub(super) gate: Option<RetryAfterGate>,
}

impl Settings {
    /// The same, with the call's own options.
    pub(super) fn with(&self, options: &CallOptions) -> Self {
        Self {
            limits: self.limits.with(options),
            max_attempts: options.max_attempts.unwrap_or(self.max_attempts),
            may_run_twice: options.repeat_ok.or(self.may_run_twice),
            ..self.clone()
        }
    }

    /// The longest hint to wait for.
    pub(super) fn max_retry_after(&self) -> Duration {
        self.max_retry_after.unwrap_or_else(|| {
            let window = self.limits.retry_window.unwrap_or(MAX_RETRY_AFTER);
            window.min(MAX_RETRY_AFTER)
        })
    }

    /// Whether a call may run twice, and by which source.
    #[inline]
    pub(super) fn permission_for(&self, call: &impl ToolCall) -> Permission {
        let said = self.may_run_twice.or_else(|| self.repeat_ok.ask(call));
        match said.or(self.else_repeat_ok) {
            Some(true) => Permission::MayRunTwice,
            // The user's answer is about running twice, and this server runs the call once.
            _ if self.trusts_server && call.runs_once() => Permission::RunsOnce,
            // Checked before a `Some(false)`: a refusal by a server that is not trusted does not
            // count for any tool.
            Some(false) | None if !self.trusts_server => Permission::ServerIsNotTrusted,
            Some(false) => Permission::NeverTwice,
            None if call.hints().may_repeat() => Permission::Hinted,
            None => Permission::Unsaid,
        }
    }
}

/// The answers about running a call twice, strictest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Permission {
    /// No answer, and the server is not trusted.
    ServerIsNotTrusted,
    NeverTwice,
    Unsaid,
    /// The server runs the call once even if it is sent several times.
    RunsOnce,
    /// The hints permit it, as long as they hold.
    Hinted,
    MayRunTwice,
}

/// The user's answers for tools, by name.
#[derive(Clone, Default)]
pub(super) struct RepeatOk(pub(super) Option<Arc<AskUser>>);

impl RepeatOk {
    /// Asks only for tools, since a prompt or a resource may have the name of a tool.
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
