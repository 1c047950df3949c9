//! One trace of a call, from the host to the tool, in the names of OpenTelemetry.
//!
//! Every call whose [log](crate::call_log) is on runs in a span of `tracing`, and so does each attempt
//! at a call and each dial. Names and values are those of OpenTelemetry's semantic conventions for MCP
//! (repository `semantic-conventions-genai`, status *development*, as of its commit `0393513`, on top of
//! the semantic conventions 1.41). With the feature `otel`, the spans get their kind, their status and
//! their context by [`tracing-opentelemetry`]: they are the spans that your exporter sees. Without it,
//! they carry the same names to any subscriber.
//!
//! # Spans
//!
//! | Span | Kind | Parent |
//! |---|---|---|
//! | `tools/call NAME`, `prompts/get NAME`, `resources/read`: the call, waits included | SERVER in [`Resilient`](crate::rmcp::Resilient), CLIENT in `Client`, INTERNAL elsewhere | a server's: the context in `params._meta`, and the ambient span is a link. A client's: the ambient span, or else the context in `params._meta`. Another one's: as a server's |
//! | `attempt tools/call NAME`: one attempt, made by [`retry`](crate::retry) | CLIENT in `Client`, INTERNAL elsewhere | the call |
//! | `dial`: one dial of [`reconnect`](crate::reconnect) | INTERNAL | the attempt, or whatever else began to wait for a connection first |
//!
//! | Attribute | On | Is |
//! |---|---|---|
//! | `mcp.method.name` | call, attempt | `tools/call`, `resources/read`, `prompts/get` |
//! | `gen_ai.operation.name` | call, attempt | `execute_tool`, for tools only |
//! | `gen_ai.tool.name`, `gen_ai.prompt.name`, `mcp.resource.uri` | call, attempt | what is called; a URI is no part of the span's name |
//! | `jsonrpc.request.id` | call of a server; attempt of a client | the id of the request, as a string |
//! | `mcp.session.id` | call of a server; attempt of a client | MCP's session, if there is one |
//! | `mcp.protocol.version`, `network.transport` | call; attempt of a client | the version that was negotiated; `pipe` or `tcp` |
//! | `server.address`, `server.port` | call and attempt of a client over HTTP | host and port of the URL |
//! | `error.type` | call, attempt, dial | the code of a JSON-RPC error, `tool_error` for a flagged result, or the [class](crate::Class) |
//! | `rpc.response.status_code` | call, attempt | the code of a JSON-RPC error, as a string |
//! | `gen_ai.tool.call.arguments`, `gen_ai.tool.call.result` | call | only if [asked for](crate::call_log::CallLogLayer::contents_in_spans); masked and cut |
//! | `mcp_resilience.call_id`, `mcp_resilience.outcome`, `mcp_resilience.attempts`, `mcp_resilience.waited_ms` | call | as in the line of the log; the last two are numbers |
//! | `mcp_resilience.attempt` | attempt | its number, from 1 |
//! | `mcp_resilience.dial` | dial | its number |
//!
//! The status is ERROR exactly if `error.type` is set, and the description says why: the message of a
//! JSON-RPC error, else the `error` of the log line. It is never set to OK. An answer that asks for input
//! or is a task, and a call that its caller dropped, are no errors.
//!
//! Texts from outside are masked, bounded and escaped, as in the log.
//!
//! # Context
//!
//! It travels in `params._meta` as `traceparent`, `tracestate` and `baggage`, without a prefix (SEP-414).
//! A `Client` puts that of the attempt there, so that each attempt is the parent of what it causes. What
//! came in is read by the W3C's rules: a `traceparent` that is malformed, all zeros, or of version `ff` is
//! ignored, of a later version the first four fields are read; a `tracestate` or a `baggage` of more than
//! 8 KiB is ignored. None of it ever fails a call.
//!
//! For a connector or a server of your own, `inject` (feature `otel`) puts the current context into a
//! request's `_meta`.
//!
//! # How to set it up
//!
//! ```
//! # #[cfg(feature = "otel")] {
//! use opentelemetry::trace::TracerProvider;
//! use opentelemetry_sdk::trace::{InMemorySpanExporter, SdkTracerProvider};
//! use tracing_subscriber::layer::SubscriberExt;
//!
//! // Take the OTLP exporter here.
//! let exporter = InMemorySpanExporter::default();
//! let provider = SdkTracerProvider::builder().with_batch_exporter(exporter).build();
//! let traces = tracing_opentelemetry::layer()
//!     // An error that a tool logs on its way to a success is not the call's.
//!     .with_error_events_to_status(false)
//!     .with_tracer(provider.tracer("bookshop"));
//! let subscriber = tracing_subscriber::registry().with(traces);
//! # let _ = subscriber;
//! // At the end of the process, for the last spans:
//! provider.shutdown().ok();
//! # }
//! ```
//!
//! The spans are at the level INFO. A filter that hides them hides the trace. `tracing-opentelemetry`
//! turns events at ERROR into the status of the span around them, unless it is told not to, as above.
//!
//! `examples/telemetry.rs` shows a client and a server in two processes.
//!
//! # When to use it
//!
//! The trace is for one call; for numbers over many, use the module `metrics`, and for questions
//! that nobody thought of before, the [log](crate::call_log), whose lines have the ids of trace and span.
//!
//! # Costs
//!
//! Without a subscriber a span costs a look at an atomic. With one, see the benchmarks of the log: a
//! subscriber costs several times the call's own layers.
//!
//! [`tracing-opentelemetry`]: https://docs.rs/tracing-opentelemetry

mod attempt;
mod cause;
mod context;
mod dial;
mod trace_parent;

#[cfg(feature = "otel")]
pub use self::context::inject;
pub(crate) use self::{
    attempt::AttemptSpan,
    cause::Cause,
    context::{adopt, ids},
    dial::DialSpan,
    trace_parent::TraceParent,
};
#[cfg(feature = "rmcp-client")]
use crate::{call::Route, text::shown_name};
use crate::{
    failure::{Failure, NAME_LIMIT},
    text::shown,
};
use std::borrow::Cow;
use tracing::{Span, field};

/// Says of a span why its work failed.
pub(crate) fn fail(span: &Span, failure: &Failure) {
    let text = match failure.rpc_error() {
        Some(error) => shown(&error.message, NAME_LIMIT),
        None => shown(&failure.redacted_chain(), NAME_LIMIT),
    };
    fail_as(span, &error_type(failure), &text);
    if let Some(error) = failure.rpc_error() {
        span.record("rpc.response.status_code", field::display(error.code));
    }
}

/// The same in words of ours, with a text that is shown already.
pub(crate) fn fail_as(span: &Span, error_type: &str, shown: &str) {
    span.record("error.type", error_type);
    span.record("otel.status_code", "ERROR");
    span.record("otel.status_description", shown);
}

/// Says of the current span, if it is that of an attempt, which way the request goes.
#[cfg(feature = "rmcp-client")]
pub(crate) fn sent(route: &Route, session_id: Option<&str>) {
    let span = Span::current();
    if span.is_disabled() {
        return;
    }
    if let Some(version) = route.protocol_version() {
        span.record("mcp.protocol.version", shown_name(version));
    }
    if let Some(transport) = route.transport() {
        span.record("network.transport", transport.as_str());
    }
    if let Some(address) = route.server_address() {
        span.record("server.address", shown_name(address));
    }
    if let Some(port) = route.server_port() {
        span.record("server.port", i64::from(port));
    }
    if let Some(id) = session_id {
        span.record("mcp.session.id", shown_name(id));
    }
}

/// The same of the id that the request got: a number or a string.
#[cfg(feature = "rmcp-client")]
pub(crate) fn has_request_id(span: &Span, id: impl std::fmt::Display) {
    if !span.is_disabled() {
        span.record("jsonrpc.request.id", field::display(id));
    }
}

/// A number for a span. `tracing-opentelemetry` makes a text of one without a sign.
pub(crate) fn number(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

/// The value of `error.type` for a failure.
pub(crate) fn error_type(failure: &Failure) -> Cow<'static, str> {
    match failure.rpc_error() {
        Some(error) => error.code.to_string().into(),
        None if failure.has_result() => TOOL_ERROR.into(),
        None => failure.class().as_str().into(),
    }
}

/// The value of `error.type` for a flagged result.
pub(crate) const TOOL_ERROR: &str = "tool_error";
