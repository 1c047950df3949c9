use super::CallRef;
use crate::failure::{Class, Failure, LimitReached, Stopped};
use std::time::Duration;

/// A decision of a layer.
///
/// The [module page](super) says which layer reports it, and when. Variants and fields may be added:
/// match with `..`, and have an arm for the rest.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub enum Event<'a> {
    /// An attempt failed and will be repeated.
    #[non_exhaustive]
    RetryScheduled {
        /// The call, and the attempt that failed.
        call: CallRef<'a>,
        /// The failure of the attempt.
        failure: &'a Failure,
        /// The wait before the next attempt.
        wait: Duration,
        /// How many more repeats the budget would pay for now. `None` without a budget, and for one
        /// of tower's, which does not say.
        budget_left: Option<u32>,
    },
    /// An attempt waits at the [shared gate](crate::retry::RetryAfterGate), since the server asked an earlier call
    /// to wait.
    #[non_exhaustive]
    CallHeld {
        /// The call, and its last attempt; 1 if none was made yet.
        call: CallRef<'a>,
        /// The class of the failure that asked for the wait.
        class: Class,
        /// The time until the attempt goes out, if no further hint comes.
        wait: Duration,
    },
    /// A call fails and is not repeated, although waiting might have helped.
    #[non_exhaustive]
    GaveUp {
        /// The call, and its last attempt.
        call: CallRef<'a>,
        /// The failure of the call.
        failure: &'a Failure,
        /// Why it is not repeated.
        stopped: Stopped,
    },
    /// The budget does not pay for a repeat.
    #[non_exhaustive]
    BudgetRefused {
        /// The call, and the attempt that failed.
        call: CallRef<'a>,
        /// The failure of the attempt.
        failure: &'a Failure,
    },
    /// A call ran into a limit of time.
    #[non_exhaustive]
    LimitReached {
        /// The call, and the attempt that ran.
        call: CallRef<'a>,
        /// The limit, its length, and by [`Limit::setting`](crate::failure::Limit::setting) the
        /// setting that raises it.
        limit: &'a LimitReached,
    },
    /// A result without a flag was a failure, and was flagged.
    #[non_exhaustive]
    ResultFlagged {
        /// The call.
        call: CallRef<'a>,
        /// The failure in the result.
        failure: &'a Failure,
    },
    /// The server told the client of a call that the call is alive, by a report of progress.
    #[non_exhaustive]
    HeartbeatSent {
        /// The call.
        call: CallRef<'a>,
        /// How long the call has taken so far.
        elapsed: Duration,
    },
    /// A dial begins.
    #[non_exhaustive]
    Dialing {
        /// The number of the dial. Later dials have higher numbers; some numbers are skipped.
        dial: u64,
    },
    /// A dial failed.
    #[non_exhaustive]
    DialFailed {
        /// The number of the dial.
        dial: u64,
        /// The failure of the dial.
        failure: &'a Failure,
    },
    /// A dial made a connection, which is in use now.
    #[non_exhaustive]
    Connected {
        /// The number of the dial.
        dial: u64,
        /// The number of the connection, from 1.
        generation: u64,
    },
    /// A connection is lost: new calls get another one.
    #[non_exhaustive]
    ConnectionLost {
        /// The number of the connection.
        generation: u64,
        /// The failure that showed it.
        failure: &'a Failure,
    },
    /// Calls were not answered in time, so the connection is probed.
    #[non_exhaustive]
    ProbeStarted {
        /// The number of the connection.
        generation: u64,
    },
    /// A probe failed.
    #[non_exhaustive]
    ProbeFailed {
        /// The number of the connection.
        generation: u64,
        /// The failure of the probe.
        failure: &'a Failure,
    },
    /// The stack is shut by its first fatal failure.
    #[non_exhaustive]
    Shut {
        /// The cause.
        failure: &'a Failure,
    },
}

impl<'a> Event<'a> {
    /// The name of the kind, for a metric: `retry_scheduled`.
    #[must_use]
    pub const fn kind(&self) -> &'static str {
        match self {
            Self::RetryScheduled { .. } => "retry_scheduled",
            Self::CallHeld { .. } => "call_held",
            Self::GaveUp { .. } => "gave_up",
            Self::BudgetRefused { .. } => "budget_refused",
            Self::LimitReached { .. } => "limit_reached",
            Self::ResultFlagged { .. } => "result_flagged",
            Self::HeartbeatSent { .. } => "heartbeat_sent",
            Self::Dialing { .. } => "dialing",
            Self::DialFailed { .. } => "dial_failed",
            Self::Connected { .. } => "connected",
            Self::ConnectionLost { .. } => "connection_lost",
            Self::ProbeStarted { .. } => "probe_started",
            Self::ProbeFailed { .. } => "probe_failed",
            Self::Shut { .. } => "shut",
        }
    }

    /// The call that it is about. None if it is about a connection or the stack.
    #[must_use]
    pub const fn call(&self) -> Option<CallRef<'a>> {
        match self {
            Self::RetryScheduled { call, .. }
            | Self::CallHeld { call, .. }
            | Self::GaveUp { call, .. }
            | Self::BudgetRefused { call, .. }
            | Self::LimitReached { call, .. }
            | Self::ResultFlagged { call, .. }
            | Self::HeartbeatSent { call, .. } => Some(*call),
            _ => None,
        }
    }

    /// The failure that caused it.
    #[must_use]
    pub const fn failure(&self) -> Option<&'a Failure> {
        match self {
            Self::RetryScheduled { failure, .. }
            | Self::GaveUp { failure, .. }
            | Self::BudgetRefused { failure, .. }
            | Self::ResultFlagged { failure, .. }
            | Self::DialFailed { failure, .. }
            | Self::ConnectionLost { failure, .. }
            | Self::ProbeFailed { failure, .. }
            | Self::Shut { failure } => Some(failure),
            _ => None,
        }
    }
}
