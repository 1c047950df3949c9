use crate::{
    call::{Method, ToolCall},
    failure::{Failure, Stopped},
};
use std::{fmt, sync::Arc};

/// The [gate](super#the-gate)'s verdict on a failed call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Verdict {
    /// It may be repeated, if attempts, time and budget are left.
    Repeat,
    /// Waiting would not help, or the failure was given up before.
    Final,
    /// Waiting may help, but nothing permits a repeat.
    MayHaveRun,
}

/// The answer of [`override_verdict`](super::RetryBuilder::override_verdict) to a [`Verdict`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Override {
    /// The verdict stays.
    Keep,
    /// The call is not repeated.
    Stop,
    /// A call of the tool with this name is repeated even if it may have run. Has no effect for
    /// another tool, for resources and prompts, and for [`Verdict::Final`].
    RepeatTool(&'static str),
}

/// The user's override of verdicts.
#[derive(Clone, Default)]
pub(super) struct Overrides(Option<Arc<OverrideFn>>);

type OverrideFn = dyn Fn(&dyn ToolCall, &Failure, Verdict) -> Override + Send + Sync;

impl Overrides {
    pub(super) fn new(
        last_word: impl Fn(&dyn ToolCall, &Failure, Verdict) -> Override + Send + Sync + 'static,
    ) -> Self {
        Self(Some(Arc::new(last_word)))
    }

    /// Whether a call with this verdict passes the gate. The error is the reason, if waiting might
    /// help.
    pub(super) fn pass(
        &self,
        call: Option<&impl ToolCall>,
        failure: &Failure,
        verdict: Verdict,
    ) -> Result<(), Option<Stopped>> {
        let said = match (&self.0, call) {
            (Some(last_word), Some(call)) => last_word(call, failure, verdict),
            _ => Override::Keep,
        };
        let is_of = |tool: &str| {
            call.is_some_and(|call| call.method() == Method::CallTool && call.name() == tool)
        };
        match (verdict, said) {
            (Verdict::Repeat, Override::Stop) => Err(Some(Stopped::Overridden)),
            (Verdict::Repeat, _) => Ok(()),
            (Verdict::MayHaveRun, Override::RepeatTool(tool)) if is_of(tool) => Ok(()),
            (Verdict::MayHaveRun, _) => Err(Some(Stopped::MayHaveRun)),
            (Verdict::Final, _) => Err(None),
        }
    }
}

impl fmt::Debug for Overrides {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.0 {
            Some(_) => "Overrides(..)",
            None => "None",
        })
    }
}
