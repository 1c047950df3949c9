use super::{
    clock::now,
    json::Writer,
    layer::Config,
    record::{ARGUMENTS_LIMIT, Outcome, Record},
    span,
};
use crate::{
    call::{Method, Route, ToolCall, ToolResult},
    failure::{Class, Code, Failure, NAME_LIMIT, first},
    ledger::{Ledger, Notes, Retried},
    telemetry::{self, TraceParent},
    text::{self, MASK, Redaction},
};
use serde_json::{Map, Value};
use std::{
    mem,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::Arc,
    thread,
    time::Duration,
};
use tokio::time::Instant;
use tracing::{Level, Span};

/// A call in progress. It writes its line at the end, or when it is dropped.
pub(super) struct Entry {
    open: Option<Open>,
}

struct Open {
    config: Arc<Config>,
    // The redaction for every text about this call.
    redaction: Option<Arc<Redaction>>,
    ledger: Ledger,
    begun: Instant,
    method: Method,
    name: String,
    arguments: Option<String>,
    request_id: Option<String>,
    session_id: Option<String>,
    trace_id: Option<String>,
    span_id: Option<String>,
    route: Route,
    is_listed: Option<bool>,
    span: Span,
}

/// How a call ended, as its caller sees it.
pub(super) enum Ending<'a> {
    Answered {
        is_error: bool,
        is_interim: bool,
        text: Option<&'a str>,
    },
    Failed(&'a Failure),
    Dropped,
    Panicked,
}

impl<'a> Ending<'a> {
    pub(super) fn of_result(result: &'a impl ToolResult) -> Self {
        let is_error = result.is_error();
        Self::Answered {
            is_error,
            is_interim: result.is_interim(),
            text: result.texts().next().filter(|_| is_error),
        }
    }
}

impl Entry {
    /// Copies what the line will need, and no more than the line will hold.
    pub(super) fn open(call: &impl ToolCall, ledger: Ledger, config: Arc<Config>) -> Self {
        let begun = Instant::now();
        let logging = config.arguments;
        let found = call.arguments().map(|arguments| logging.look(arguments));
        let mut found = found.unwrap_or_default();
        let hook = config.redact.as_ref().map(Arc::clone);
        let redaction = Redaction::new(mem::take(&mut found.secrets), hook);
        let mut open = text::within(redaction.as_ref(), || Open {
            ledger,
            begun,
            method: call.method(),
            name: cut(call.name()),
            arguments: call
                .arguments()
                .and_then(|arguments| logging.render(arguments, &found, ARGUMENTS_LIMIT)),
            request_id: call.request_id().map(|id| request_id(&id)),
            session_id: call.session_id().map(cut),
            trace_id: call.meta().and_then(trace_id).map(str::to_owned),
            span_id: None,
            route: call.route(),
            is_listed: call.is_listed(),
            span: Span::none(),
            redaction: redaction.as_ref().map(Arc::clone),
            config,
        });
        open.open_span(call.meta());
        Self { open: Some(open) }
    }

    /// The values to mask in everything that is written about this call.
    pub(super) fn redaction(&self) -> Option<&Arc<Redaction>> {
        self.open.as_ref()?.redaction.as_ref()
    }

    /// Runs something in the span of the call.
    #[inline]
    pub(super) fn in_span<T>(&self, run: impl FnOnce() -> T) -> T {
        match &self.open {
            Some(open) => open.span.in_scope(run),
            None => run(),
        }
    }

    /// Records the result in the span, if that is on.
    pub(super) fn show(&self, result: &impl ToolResult) {
        if let Some(open) = &self.open
            && open.config.shows_contents
            && !open.span.is_disabled()
        {
            let shown = || span::result(&open.span, result.texts());
            text::within(open.redaction.as_ref(), shown);
        }
    }

    /// The notes of the inner layers.
    pub(super) fn ledger(&self) -> Option<&Ledger> {
        self.open.as_ref().map(|open| &open.ledger)
    }

    pub(super) fn close(mut self, ending: Ending<'_>) {
        if let Some(open) = self.open.take() {
            open.close(ending);
        }
    }
}

impl Drop for Entry {
    fn drop(&mut self) {
        if let Some(open) = self.open.take() {
            let ending = if thread::panicking() {
                Ending::Panicked
            } else {
                Ending::Dropped
            };
            open.close(ending);
        }
    }
}

impl Open {
    fn open_span(&mut self, meta: Option<&Map<String, Value>>) {
        let arguments = self.arguments.as_deref();
        if tracing::enabled!(target: "mcp_resilience::call_log::span", Level::INFO) {
            self.span = span::Begin {
                method: self.method,
                name: &self.name,
                route: &self.route,
                request_id: self.request_id.as_deref(),
                session_id: self.session_id.as_deref(),
                arguments: arguments.filter(|_| self.config.shows_contents),
                call_id: self.ledger.id().to_string(),
            }
            .open();
            telemetry::adopt(&self.span, self.route.side(), meta);
        }
        if let Some((trace_id, span_id)) = telemetry::ids(&self.span) {
            self.trace_id = Some(trace_id);
            self.span_id = Some(span_id);
        }
    }

    fn close(&self, ending: Ending<'_>) {
        // A log never fails the call, and this may run in a drop.
        let write = AssertUnwindSafe(|| self.span.in_scope(|| self.write(ending)));
        let written = text::within(self.redaction.as_ref(), || catch_unwind(write));
        if written.is_err() {
            let id = self.ledger.id();
            tracing::warn!(call_id = %id, "the sink of the call log panicked");
        }
    }

    fn write(&self, ending: Ending<'_>) {
        let latency = self.begun.elapsed();
        let Notes {
            mut retries,
            attempts,
            failure: noted,
            was_unflagged,
            was_replayed,
            held,
        } = self.ledger.take();
        let crash = matches!(ending, Ending::Panicked)
            .then(|| Failure::new(Class::Crash, "the stack around the tool panicked"));
        let failure = match &ending {
            Ending::Failed(failure) => Some(*failure),
            _ => noted.as_ref().or(crash.as_ref()),
        };
        let (outcome, is_error) = match ending {
            Ending::Answered {
                is_interim: true, ..
            } => (Outcome::Interim, None),
            Ending::Answered { is_error: true, .. } => (Outcome::Failed, Some(true)),
            Ending::Answered { .. } => (Outcome::Success, Some(false)),
            Ending::Failed(_) | Ending::Panicked => (Outcome::Failed, None),
            Ending::Dropped => (Outcome::Cancelled, None),
        };
        // If no layer noted attempts, a failure still carries them.
        let attempts = attempts.max(failure.map_or(1, Failure::attempts));
        let error = match (failure, ending) {
            (Some(failure), _) => Some(failure.redacted_chain().into()),
            (None, Ending::Answered { text, .. }) => text.map(text::redacted),
            (None, _) => None,
        };
        for retried in &mut retries {
            retried.code = retried.code.as_ref().map(redacted_code);
        }
        let held = held.total().min(latency);
        let waited = waited(&retries).saturating_add(held).min(latency);
        // The caller sees a flagged result, so the failure before it does not count.
        let passed = failure.filter(|_| is_error.is_none());
        let status_code = passed.and_then(Failure::rpc_error);
        let status_code = status_code.map(|error| error.code.to_string());
        let error_type = (outcome == Outcome::Failed)
            .then(|| passed.map_or(telemetry::TOOL_ERROR.into(), telemetry::error_type));
        let end = span::End {
            outcome,
            error_type: error_type.as_deref(),
            status_code: status_code.as_deref(),
            message: passed
                .and_then(Failure::rpc_error)
                .map(|error| &*error.message),
            error: error.as_deref(),
            attempts,
            waited_ms: u64::try_from(waited.as_millis()).unwrap_or(u64::MAX),
        };
        if !self.span.is_disabled() {
            end.close(&self.span);
        }
        let record = Record {
            ended: now(),
            level: level(outcome, failure, attempts > 1 || was_unflagged),
            method: self.method,
            name: &self.name,
            arguments: self.arguments.as_deref(),
            outcome,
            is_error: is_error.filter(|_| self.method == Method::CallTool),
            attempts,
            latency,
            waited,
            held,
            failure,
            code: failure.and_then(Failure::code).map(redacted_code),
            retries: &retries,
            was_unflagged,
            was_replayed,
            error: error.as_deref(),
            call_id: self.ledger.id(),
            request_id: self.request_id.as_deref(),
            session_id: self.session_id.as_deref(),
            trace_id: self.trace_id.as_deref(),
            span_id: self.span_id.as_deref(),
            route: &self.route,
            is_listed: self.is_listed,
            error_type: error_type.as_deref(),
            status_code: status_code
                .as_deref()
                .filter(|_| outcome == Outcome::Failed),
        };
        self.config.sink.write(&record);
    }
}

fn level(outcome: Outcome, failure: Option<&Failure>, is_notable: bool) -> Level {
    let own = match outcome {
        Outcome::Failed => failure.map_or(Level::INFO, |failure| failure.class().level()),
        Outcome::Success | Outcome::Cancelled | Outcome::Interim => Level::INFO,
    };
    // The most severe level is the smallest.
    if is_notable && outcome != Outcome::Cancelled {
        own.min(Level::WARN)
    } else {
        own
    }
}

/// The finished part of each wait: a call may end during one.
fn waited(retries: &[Retried]) -> Duration {
    retries
        .iter()
        .map(|retried| retried.wait.min(retried.since.elapsed()))
        .sum()
}

/// The trace of the caller.
fn trace_id(meta: &Map<String, Value>) -> Option<&str> {
    let parent = meta.get("traceparent")?.as_str()?;
    TraceParent::parse(parent).map(|parent| parent.trace_id)
}

/// JSON-RPC has numbers and strings; anything else is shown as a string.
fn request_id(id: &Value) -> String {
    let text = match id {
        Value::Number(number) => return number.to_string(),
        Value::String(text) => text,
        other => &other.to_string(),
    };
    let mut json = Writer::new(NAME_LIMIT);
    json.string(&text::redacted(text));
    json.finish()
}

fn redacted_code(code: &Code) -> Code {
    match code {
        Code::Text(text) => text::redacted(text).into_owned().into(),
        Code::Number(number) if text::is_secret_number(&number.to_string()) => MASK.into(),
        Code::Number(number) => Code::Number(*number),
    }
}

fn cut(text: &str) -> String {
    // A little more than is written, so that the writer sees that there is more.
    first(&text::redacted(text), NAME_LIMIT + 4).to_owned()
}
