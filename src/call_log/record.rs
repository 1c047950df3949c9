use super::{
    clock::timestamp,
    line::{Line, key},
};
use crate::{
    call::{Method, Route},
    failure::{Class, Code, Delivery, Failure, NAME_LIMIT, Stopped},
    ledger::{CallId, Retried},
};
use chrono::{DateTime, Utc};
use std::{
    fmt,
    time::{Duration, SystemTime},
};
use tracing::Level;

pub(super) const ERROR_LIMIT: usize = 4 * 1024;
pub(super) const ARGUMENTS_LIMIT: usize = 4 * 1024;
const RETRIES_LIMIT: usize = 16;

/// How a call ended, as its caller saw it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Outcome {
    /// A result without a flag.
    Success,
    /// A flagged result or an error.
    Failed,
    /// The call was dropped by its caller.
    Cancelled,
    /// The server asks for input, or made a task of the call, so the end is still to come.
    Interim,
}

impl Outcome {
    /// The name, as a log line has it.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Success => "success",
            Self::Failed => "failed",
            Self::Cancelled => "cancelled",
            Self::Interim => "interim",
        }
    }
}

/// A finished call, as a [`Sink`](super::Sink) gets it.
///
/// Its `Debug` is the line, since the failure itself may hold secrets.
///
/// ```
/// use mcp_resilience::call_log::{CallLogLayer, Outcome, Record};
///
/// // A closure is a sink: this one reports slow and failed calls.
/// let layer = CallLogLayer::new(|record: &Record<'_>| {
///     if record.outcome() == Outcome::Failed || record.latency().as_secs() >= 5 {
///         eprintln!("{} took {:?}: {:?}", record.name(), record.latency(), record.class());
///     }
/// });
/// # let _ = layer;
/// ```
pub struct Record<'a> {
    pub(super) ended: DateTime<Utc>,
    pub(super) level: Level,
    pub(super) method: Method,
    pub(super) name: &'a str,
    pub(super) arguments: Option<&'a str>,
    pub(super) outcome: Outcome,
    pub(super) is_error: Option<bool>,
    pub(super) attempts: u32,
    pub(super) latency: Duration,
    pub(super) waited: Duration,
    pub(super) held: Duration,
    pub(super) failure: Option<&'a Failure>,
    pub(super) code: Option<Code>,
    pub(super) retries: &'a [Retried],
    pub(super) was_unflagged: bool,
    pub(super) was_replayed: bool,
    pub(super) error: Option<&'a str>,
    pub(super) call_id: CallId,
    pub(super) request_id: Option<&'a str>,
    pub(super) session_id: Option<&'a str>,
    pub(super) trace_id: Option<&'a str>,
    pub(super) span_id: Option<&'a str>,
    pub(super) route: &'a Route,
    pub(super) is_listed: Option<bool>,
    pub(super) error_type: Option<&'a str>,
    pub(super) status_code: Option<&'a str>,
}

impl Record<'_> {
    getters! {
        /// The level of the line.
        level: Level;
        /// The kind of request.
        method: Method;
        /// The name of the tool, the URI, or the name of the prompt; cut if it is long.
        name: &str;
        /// The arguments, as JSON; masked and cut.
        arguments: Option<&str>;
        /// How it ended.
        outcome: Outcome;
        /// The result's flag, if there was a result.
        is_error: Option<bool>;
        /// How many attempts were made.
        attempts: u32;
        /// The time from the start of the call to its end, waits included.
        latency: Duration;
        /// The waits between attempts, and those at the [shared gate](crate::retry::RetryAfterGate).
        waited: Duration;
        /// The waits at the [shared gate](crate::retry::RetryAfterGate) alone.
        held: Duration;
        /// The attempts that were followed by a wait.
        retries: &[Retried];
        /// Whether the result was a failure without a flag, and was flagged here.
        was_unflagged: bool;
        /// Whether the answer is from the [idempotency](crate::idempotency) store, not from a run.
        was_replayed: bool;
        /// The failure with all its sources, masked.
        error: Option<&str>;
        /// The id of this call.
        call_id: impl fmt::Display;
        /// The JSON-RPC id, as JSON.
        request_id: Option<&str>;
        /// The MCP session.
        session_id: Option<&str>;
        /// The trace of the active span (feature `otel`), else that of the caller's `traceparent`.
        trace_id: Option<&str>;
        /// The active span (feature `otel`).
        span_id: Option<&str>;
        /// How the call travelled. Not on the line.
        route: &Route;
        /// Whether the server lists what was called. `None` if that is unknown. Not on the line.
        is_listed: Option<bool>;
        /// OpenTelemetry's `error.type`, for an outcome of `failed`: the code of a JSON-RPC error,
        /// `tool_error` for a flagged result, or the class. Not on the line.
        error_type: Option<&str>;
        /// The code of a JSON-RPC error that the caller gets. Not on the line.
        status_code: Option<&str>;
    }

    /// When it ended.
    #[must_use]
    pub fn ended(&self) -> SystemTime {
        self.ended.into()
    }

    /// The class of the failure.
    #[must_use]
    pub fn class(&self) -> Option<Class> {
        self.failure.map(Failure::class)
    }

    /// The server's own code for it.
    #[must_use]
    pub fn code(&self) -> Option<&Code> {
        self.code.as_ref()
    }

    /// How far the call got.
    #[must_use]
    pub fn delivery(&self) -> Option<Delivery> {
        self.failure.map(Failure::delivery)
    }

    /// How long the server asked to wait.
    #[must_use]
    pub fn retry_after(&self) -> Option<Duration> {
        self.failure.and_then(Failure::retry_after)
    }

    /// Why it was not repeated, although waiting might have helped.
    #[must_use]
    pub fn stopped(&self) -> Option<Stopped> {
        self.failure.and_then(Failure::stopped)
    }

    /// The line, without a line feed.
    #[must_use]
    pub fn to_json(&self) -> String {
        let long = self.arguments.map_or(0, str::len) + self.error.map_or(0, str::len);
        let mut line = Line::with_capacity(512 + long);
        line.0.begin('{');
        line.word(key!("timestamp"), &timestamp(self.ended));
        line.word(key!("level"), self.level.as_str());
        line.word(key!("event"), "call");
        line.word(key!("method"), self.method.as_str());
        line.text(subject(self.method), self.name, NAME_LIMIT);
        line.json(key!("arguments"), self.arguments);
        line.word(key!("outcome"), self.outcome.as_str());
        line.flag(key!("is_error"), self.is_error);
        line.flag(key!("retried"), Some(self.attempts > 1));
        line.number(key!("attempts"), self.attempts);
        line.number(key!("latency_ms"), self.latency.as_millis());
        line.number(key!("waited_ms"), self.waited.as_millis());
        if !self.held.is_zero() {
            line.number(key!("held_ms"), self.held.as_millis());
        }
        if let Some(failure) = self.failure {
            line.word(key!("class"), failure.class().as_str());
            line.code(self.code());
            line.word(key!("delivery"), failure.delivery().as_str());
            if let Some(wait) = failure.retry_after() {
                line.number(key!("retry_after_ms"), wait.as_millis());
            }
            if let Some(stopped) = failure.stopped() {
                line.word(key!("retry_stopped"), stopped.as_str());
            }
        }
        self.write_retries(&mut line);
        line.flag(key!("unflagged"), self.was_unflagged.then_some(true));
        line.flag(key!("replayed"), self.was_replayed.then_some(true));
        if let Some(error) = self.error {
            line.text(key!("error"), error, ERROR_LIMIT);
        }
        line.word(key!("call_id"), &self.call_id.digits());
        line.json(key!("request_id"), self.request_id);
        line.maybe(key!("session_id"), self.session_id);
        line.maybe(key!("trace_id"), self.trace_id);
        line.maybe(key!("span_id"), self.span_id);
        line.0.end('}');
        line.0.finish()
    }

    fn write_retries(&self, line: &mut Line) {
        if self.retries.is_empty() {
            return;
        }
        line.0.known_key(key!("retries"));
        line.0.begin('[');
        for (at, retried) in self.retries.iter().enumerate() {
            if at == RETRIES_LIMIT {
                line.0.cut_array();
                break;
            }
            line.0.item();
            line.0.begin('{');
            line.word(key!("class"), retried.class().as_str());
            line.code(retried.code());
            line.number(key!("wait_ms"), retried.wait().as_millis());
            line.0.end('}');
        }
        line.0.end(']');
    }
}

/// The key of the name.
fn subject(method: Method) -> &'static str {
    match method {
        Method::CallTool => key!("tool"),
        Method::ReadResource => key!("uri"),
        Method::GetPrompt => key!("prompt"),
    }
}

impl fmt::Debug for Record<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Record({})", self.to_json())
    }
}
