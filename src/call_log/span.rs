use crate::{
    call::{Method, ToolResult},
    failure::{Failure, NAME_LIMIT, escaped},
};
use tracing::{Span, field};

/// A span with OpenTelemetry's names for MCP (semantic conventions, status: development).
///
/// The request's id comes as JSON.
pub(super) fn open(
    method: Method,
    name: &str,
    request_id: Option<&str>,
    session_id: Option<&str>,
) -> Span {
    let shown = |text| escaped(text, NAME_LIMIT, &[]);
    let span = tracing::info_span!(
        "mcp.call",
        "otel.name" = %format_args!("{} {}", method.as_str(), shown(name)),
        "mcp.method.name" = method.as_str(),
        "gen_ai.operation.name" = field::Empty,
        "gen_ai.tool.name" = field::Empty,
        "gen_ai.prompt.name" = field::Empty,
        "mcp.resource.uri" = field::Empty,
        "jsonrpc.request.id" = request_id.map(id),
        "mcp.session.id" = session_id.map(shown),
        "error.type" = field::Empty,
        "rpc.response.status_code" = field::Empty,
    );
    if span.is_disabled() {
        return span;
    }
    let name = shown(name);
    match method {
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
    span
}

/// A number as it is, and a string without its quotes.
fn id(json: &str) -> String {
    let text = serde_json::from_str::<String>(json);
    text.map_or_else(|_| json.to_owned(), |text| escaped(&text, NAME_LIMIT, &[]))
}

/// Says of a span how its call ended.
pub(super) fn close<R: ToolResult>(span: &Span, outcome: Result<&R, &Failure>) {
    match outcome {
        Ok(result) if result.is_error() => {
            span.record("error.type", "tool_error");
        }
        Ok(_) => {}
        Err(failure) => fail(span, failure),
    }
}

pub(super) fn fail(span: &Span, failure: &Failure) {
    match failure.rpc_error() {
        Some(error) => {
            span.record("error.type", field::display(error.code));
            span.record("rpc.response.status_code", field::display(error.code));
        }
        None => {
            span.record("error.type", failure.class().as_str());
        }
    }
}
