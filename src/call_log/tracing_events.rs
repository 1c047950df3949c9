use super::{Record, Sink};
use crate::{
    call::Method,
    text::{MESSAGE_LIMIT, NAME_LIMIT, escaped},
};
use std::time::Duration;
use tracing::Level;

/// Hands each record to `tracing`, as one event with the target `mcp_resilience::call_log`.
///
/// The fields have the names of the [line](super#the-fields), and `retries` is their number. Unknown
/// values are left out. The subscriber decides where the events go; with a stdio transport, it must
/// not be stdout.
#[derive(Clone, Copy, Debug, Default)]
pub struct TracingEvents {
    _private: (),
}

impl TracingEvents {
    /// Creates the sink.
    #[must_use]
    pub const fn new() -> Self {
        Self { _private: () }
    }
}

impl Sink for TracingEvents {
    fn write(&self, record: &Record<'_>) {
        // The record is masked already, and not every subscriber escapes.
        let shown = |name: &str| escaped(name, NAME_LIMIT, &[]);
        let named = |method| (record.method() == method).then(|| shown(record.name()));
        macro_rules! event {
            ($level:ident) => {
                tracing::event!(
                    target: "mcp_resilience::call_log",
                    Level::$level,
                    method = record.method().as_str(),
                    tool = named(Method::CallTool),
                    uri = named(Method::ReadResource),
                    prompt = named(Method::GetPrompt),
                    arguments = record.arguments(),
                    outcome = record.outcome().as_str(),
                    is_error = record.is_error(),
                    retried = record.attempts() > 1,
                    attempts = record.attempts(),
                    latency_ms = millis(record.latency()),
                    waited_ms = millis(record.waited()),
                    class = record.class().map(|class| class.as_str()),
                    // A field has one type.
                    code = record.code().map(|code| shown(&code.to_string())),
                    delivery = record.delivery().map(|delivery| delivery.as_str()),
                    retry_after_ms = record.retry_after().map(millis),
                    retry_stopped = record.stopped().map(|stopped| stopped.as_str()),
                    retries = (!record.retries().is_empty()).then_some(record.retries().len()),
                    unflagged = record.was_unflagged().then_some(true),
                    replayed = record.was_replayed().then_some(true),
                    error = record.error().map(|error| escaped(error, MESSAGE_LIMIT, &[])),
                    call_id = %record.call_id(),
                    request_id = record.request_id(),
                    session_id = record.session_id().map(shown),
                    trace_id = record.trace_id(),
                    span_id = record.span_id(),
                )
            };
        }
        match record.level() {
            Level::ERROR => event!(ERROR),
            Level::WARN => event!(WARN),
            _ => event!(INFO),
        }
    }
}

fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}
