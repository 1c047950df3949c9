use super::fail;
use crate::{
    call::{Method, Side, ToolCall},
    failure::Failure,
    text::shown_name,
};
use tracing::{Span, field::Empty};

/// The span of one attempt. `None` without a subscriber.
// Boxed, since few calls have one and all futures are moved with it.
#[derive(Debug, Default)]
pub(crate) struct AttemptSpan(Option<Box<Span>>);

impl AttemptSpan {
    /// Opens the span of an attempt, in the span that is current.
    #[inline]
    pub(crate) fn open(call: &impl ToolCall, attempt: u32) -> Self {
        if tracing::enabled!(target: "mcp_resilience::telemetry", tracing::Level::INFO) {
            Self::of(call, attempt)
        } else {
            Self(None)
        }
    }

    #[cold]
    fn of(call: &impl ToolCall, attempt: u32) -> Self {
        let (method, name) = (call.method(), call.name());
        let named = |which| (method == which).then(|| shown_name(name));
        // Each part is masked by itself. A URI is not part of it.
        let target = match method {
            Method::ReadResource => format!("attempt {}", method.as_str()),
            Method::CallTool | Method::GetPrompt => {
                format!("attempt {} {}", method.as_str(), shown_name(name))
            }
        };
        let kind = match call.route().side() {
            Side::Client => Side::Client,
            Side::Server | Side::Internal => Side::Internal,
        };
        let span = tracing::info_span!(
            target: "mcp_resilience::telemetry",
            "mcp.attempt",
            "otel.name" = target.as_str(),
            "otel.kind" = kind.as_str(),
            "mcp.method.name" = method.as_str(),
            "gen_ai.operation.name" = (method == Method::CallTool).then_some("execute_tool"),
            "gen_ai.tool.name" = named(Method::CallTool),
            "gen_ai.prompt.name" = named(Method::GetPrompt),
            "mcp.resource.uri" = named(Method::ReadResource),
            "mcp_resilience.attempt" = i64::from(attempt),
            "jsonrpc.request.id" = Empty,
            "mcp.session.id" = Empty,
            "mcp.protocol.version" = Empty,
            "network.transport" = Empty,
            "server.address" = Empty,
            "server.port" = Empty,
            "error.type" = Empty,
            "rpc.response.status_code" = Empty,
            "otel.status_code" = Empty,
            "otel.status_description" = Empty,
        );
        Self(Some(Box::new(span)))
    }

    #[inline]
    pub(crate) fn in_scope<T>(&self, run: impl FnOnce() -> T) -> T {
        match &self.0 {
            Some(span) => span.in_scope(run),
            None => run(),
        }
    }

    /// The attempt failed.
    #[inline]
    pub(crate) fn fail(&mut self, failure: &Failure) {
        if let Some(span) = self.0.take() {
            fail(&span, failure);
        }
    }

    /// The attempt succeeded.
    #[inline]
    pub(crate) fn end(&mut self) {
        self.0 = None;
    }
}
