use super::{Target, fail};
use crate::{
    call::{Side, ToolCall},
    failure::Failure,
    text::shown_name,
};
use tracing::{Level, Span, field::Empty, level_filters::LevelFilter};

/// The spans of a call's attempts, one at a time. None without a subscriber.
// Boxed, since few calls have one and all futures are moved with it.
#[derive(Debug)]
pub(crate) struct AttemptSpan(Option<Box<Open>>);

#[derive(Debug)]
struct Open {
    /// The span around the call. A later attempt may begin in a task that has no span.
    around: Span,
    /// Of the attempt that runs.
    attempt: Span,
}

impl AttemptSpan {
    /// Opens the span of the first attempt, in the span that is current.
    #[inline]
    pub(crate) fn first(call: &impl ToolCall) -> Self {
        let mut span = Self::none_yet();
        span.next(call, 1);
        span
    }

    /// Before the first attempt, which waits.
    #[inline]
    pub(crate) fn none_yet() -> Self {
        // Costs one load without a subscriber.
        if LevelFilter::current() < Level::INFO {
            return Self(None);
        }
        Self::if_enabled()
    }

    fn if_enabled() -> Self {
        let is_enabled = tracing::enabled!(target: "mcp_resilience::telemetry", Level::INFO);
        Self(is_enabled.then(|| Box::new(Open::new())))
    }

    /// Opens the span of an attempt.
    #[inline]
    pub(crate) fn next(&mut self, call: &impl ToolCall, attempt: u32) {
        if let Some(open) = &mut self.0 {
            open.next(call, attempt);
        }
    }

    #[inline]
    pub(crate) fn in_scope<T>(&self, run: impl FnOnce() -> T) -> T {
        match &self.0 {
            Some(open) => open.attempt.in_scope(run),
            None => run(),
        }
    }

    /// The attempt failed. Another one may follow.
    #[inline]
    pub(crate) fn fail(&mut self, failure: &Failure) {
        if let Some(open) = &mut self.0 {
            open.fail(failure);
        }
    }

    /// The last attempt is over.
    #[inline]
    pub(crate) fn end(&mut self) {
        self.0 = None;
    }
}

impl Open {
    #[cold]
    fn new() -> Self {
        Self {
            around: Span::current(),
            attempt: Span::none(),
        }
    }

    #[cold]
    fn next(&mut self, call: &impl ToolCall, attempt: u32) {
        self.attempt = if Span::current().is_none() {
            self.around.in_scope(|| span(call, attempt))
        } else {
            span(call, attempt)
        };
    }

    #[cold]
    fn fail(&mut self, failure: &Failure) {
        if !self.attempt.is_disabled() {
            fail(&self.attempt, failure);
        }
        self.attempt = Span::none();
    }
}

fn span(call: &impl ToolCall, attempt: u32) -> Span {
    let target = Target::new(call.method(), shown_name(call.name()));
    let kind = match call.route().side() {
        Side::Client => Side::Client,
        Side::Server | Side::Internal => Side::Internal,
    };
    tracing::info_span!(
        target: "mcp_resilience::telemetry",
        "mcp.attempt",
        "otel.name" = format!("attempt {}", target.span_name()).as_str(),
        "otel.kind" = kind.as_str(),
        "mcp.method.name" = target.method(),
        "gen_ai.operation.name" = target.operation(),
        "gen_ai.tool.name" = target.tool(),
        "gen_ai.prompt.name" = target.prompt(),
        "mcp.resource.uri" = target.uri(),
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
    )
}
