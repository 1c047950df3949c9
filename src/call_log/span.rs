use crate::{
    call::{Method, ToolCall, ToolResult},
    failure::Failure,
};
use tracing::{Span, field};

/// A span with OpenTelemetry's names for MCP (semantic conventions, status: development).
pub(super) fn open(call: &impl ToolCall) -> Span {
    let method = call.method().as_str();
    let name = call.name();
    let span = tracing::info_span!(
        "mcp.call",
        "otel.name" = %format_args!("{method} {name}"),
        "mcp.method.name" = method,
        "gen_ai.operation.name" = field::Empty,
        "gen_ai.tool.name" = field::Empty,
        "gen_ai.prompt.name" = field::Empty,
        "mcp.resource.uri" = field::Empty,
        "jsonrpc.request.id" = field::Empty,
        "mcp.session.id" = field::Empty,
        "error.type" = field::Empty,
        "rpc.response.status_code" = field::Empty,
    );
    if span.is_disabled() {
        return span;
    }
    match call.method() {
        Method::CallTool => {
            span.record("gen_ai.operation.name", "execute_tool");
            span.record("gen_ai.tool.name", name);
        }
        Method::ReadResource => {
            span.record("mcp.resource.uri", name);
        }
        Method::GetPrompt => {
            span.record("gen_ai.prompt.name", name);
        }
    }
    if let Some(id) = call.request_id() {
        match id.as_str() {
            Some(text) => span.record("jsonrpc.request.id", text),
            None => span.record("jsonrpc.request.id", field::display(&id)),
        };
    }
    if let Some(id) = call.session_id() {
        span.record("mcp.session.id", id);
    }
    span
}

/// Says of a span how its call ended.
pub(super) fn close<R: ToolResult>(span: &Span, outcome: Result<&R, &Failure>) {
    match outcome {
        Ok(result) if result.is_error() => {
            span.record("error.type", "tool_error");
        }
        Ok(_) => {}
        Err(failure) => match failure.rpc_error() {
            Some(error) => {
                span.record("error.type", field::display(error.code));
                span.record("rpc.response.status_code", field::display(error.code));
            }
            None => {
                span.record("error.type", failure.class().as_str());
            }
        },
    }
}
