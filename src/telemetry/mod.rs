//! One trace for each call, from the host to the tool, with OpenTelemetry's names.
//!
//! Every call whose [log](crate::call_log) is on runs in a span of `tracing`, and so does each
//! attempt and each dial. Names and values follow OpenTelemetry's semantic conventions for MCP:
//! repository `semantic-conventions-genai`, status *development*, at commit `0393513`, on top of the
//! semantic conventions 1.41.
//!
//! With the feature `otel`, [`tracing-opentelemetry`] gives the spans their kind, status and context,
//! and your exporter sees them. Without it, any subscriber sees the same names.
//!
//! # Spans
//!
//! | Span | Kind | Parent |
//! |---|---|---|
//! | `tools/call NAME`, `prompts/get NAME`, `resources/read`: the call, waits included | SERVER in [`Resilient`](crate::rmcp::Resilient), CLIENT in `Client`, INTERNAL elsewhere | in a server: the context in `params._meta`, with the ambient span as a link. In a client: the ambient span, else the context in `params._meta`. Elsewhere: as in a server |
//! | `attempt tools/call NAME`: one attempt, made by [`retry`](crate::retry) | CLIENT in `Client`, INTERNAL elsewhere | the call |
//! | `dial`: one dial of [`reconnect`](crate::reconnect) | INTERNAL | the attempt that first waited for the connection |
//!
//! | Attribute | On | Is |
//! |---|---|---|
//! | `mcp.method.name` | call, attempt | `tools/call`, `resources/read`, `prompts/get` |
//! | `gen_ai.operation.name` | call, attempt | `execute_tool`, for tools only |
//! | `gen_ai.tool.name`, `gen_ai.prompt.name`, `mcp.resource.uri` | call, attempt | the tool, prompt or resource; a URI is not part of the span's name |
//! | `jsonrpc.request.id` | call of a server; attempt of a client | the id of the request, as a string |
//! | `mcp.session.id` | call of a server; attempt of a client | MCP's session, if there is one |
//! | `mcp.protocol.version`, `network.transport` | call; attempt of a client | the version that was negotiated; `pipe` or `tcp` |
//! | `server.address`, `server.port` | call and attempt of a client over HTTP | host and port of the URL |
//! | `error.type` | call, attempt, dial | the code of a JSON-RPC error, `tool_error` for a flagged result, or the [class](crate::Class) |
//! | `rpc.response.status_code` | call, attempt | the code of a JSON-RPC error, as a string |
//! | `gen_ai.tool.call.arguments`, `gen_ai.tool.call.result` | call | only if [turned on](crate::call_log::CallLogLayer::contents_in_spans); masked and cut |
//! | `mcp_resilience.call_id`, `mcp_resilience.outcome`, `mcp_resilience.attempts`, `mcp_resilience.waited_ms` | call | as in the line of the log; the last two are numbers. The last three of a call that succeeded at once are set only in OpenTelemetry |
//! | `mcp_resilience.attempt` | attempt | its number, from 1 |
//! | `mcp_resilience.dial` | dial | its number |
//!
//! The status is ERROR exactly if `error.type` is set. Its description is the message of the JSON-RPC
//! error, else the `error` of the log line. It is never OK. An answer that asks for input or is a
//! task is no error, and neither is a call that its caller dropped.
//!
//! Texts from outside are masked, bounded and escaped, as in the log.
//!
//! A dial does not run inside its span, since the task of a connection often keeps the span that is
//! current, and the dial would last as long as the connection. With the feature `otel`, spans that a
//! connector opens are still its children.
//!
//! # Context
//!
//! The context travels in `params._meta` as `traceparent`, `tracestate` and `baggage`, without a
//! prefix (SEP-414). A `Client` writes the context of the attempt, so that each attempt is the parent
//! of what it causes.
//!
//! An incoming context is read by the W3C's rules. A `traceparent` that is malformed, all zeros, or
//! of version `ff` is ignored. Of a later version, the first four fields are read. A `tracestate` or
//! `baggage` of more than 8 KiB is ignored. None of this fails a call.
//!
//! For a connector or a server of your own, `inject` (feature `otel`) writes the current context into
//! a request's `_meta`.
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
//! The spans have the level INFO: a filter that hides INFO hides the trace. By default,
//! `tracing-opentelemetry` turns events at ERROR into the status of the span around them; turn that
//! off, as above.
//!
//! `examples/telemetry.rs` shows a client and a server in two processes.
//!
//! # When to use it
//!
//! A trace is for one call. For numbers over many calls, use the module `metrics`. For new questions
//! about past calls, use the [log](crate::call_log), whose lines have the ids of trace and span.
//!
//! # Costs
//!
//! Without a subscriber, the spans of a call cost about 2 ns, and about 12 ns with the feature `otel`,
//! which looks for a context. With a subscriber, they cost several times as much as all layers of the
//! call.
//!
//! [`tracing-opentelemetry`]: https://docs.rs/tracing-opentelemetry

mod attempt;
mod cause;
mod context;
mod dial;
mod target;
mod trace_parent;

#[cfg(feature = "otel")]
pub use self::context::inject;
pub(crate) use self::{
    attempt::AttemptSpan,
    cause::Cause,
    context::{adopt, ids, set},
    dial::DialSpan,
    target::Target,
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
    let error = failure.rpc_error();
    let text = match error {
        Some(error) => shown(&error.message, NAME_LIMIT),
        None => shown(&failure.redacted_chain(), NAME_LIMIT),
    };
    // Recorded at once, since some subscribers write all fields again for each record.
    tracing::record_all!(
        span,
        "error.type" = &*error_type(failure),
        "rpc.response.status_code" = error.map(|error| field::display(error.code)),
        "otel.status_code" = "ERROR",
        "otel.status_description" = text.as_str(),
    );
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
