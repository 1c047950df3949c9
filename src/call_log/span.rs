use crate::{
    call::{Method, ToolResult},
    failure::{Failure, NAME_LIMIT, escaped},
};
use tracing::{Span, field};

/// A span with OpenTelemetry's names for MCP (semantic conventions, status: development).
///
/// Takes texts that are redacted already. The request's id comes as JSON.
pub(super) fn open(
    method: Method,
    name: &str,
    request_id: Option<&str>,
    session_id: Option<&str>,
) -> Span {
    let shown = |text| escaped(text, NAME_LIMIT, &[]);
    let named = |which| (method == which).then(|| shown(name));
    // All that is known at once: a subscriber writes its fields anew for each that comes later.
    tracing::info_span!(
        "mcp.call",
        "otel.name" = %format_args!("{} {}", method.as_str(), shown(name)),
        "mcp.method.name" = method.as_str(),
        "gen_ai.operation.name" = (method == Method::CallTool).then_some("execute_tool"),
        "gen_ai.tool.name" = named(Method::CallTool),
        "gen_ai.prompt.name" = named(Method::GetPrompt),
        "mcp.resource.uri" = named(Method::ReadResource),
        "jsonrpc.request.id" = request_id.map(id),
        "mcp.session.id" = session_id.map(shown),
        "error.type" = field::Empty,
        "rpc.response.status_code" = field::Empty,
    )
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
