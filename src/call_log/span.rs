use super::Outcome;
use crate::{
    call::{Method, Route, Transport},
    failure::{NAME_LIMIT, escaped},
    telemetry::{self, Target},
    text::{MESSAGE_LIMIT, shown},
};
use tracing::{Span, field::Empty};

/// The attributes of a call's span at the start. All texts are masked; the request's id is JSON.
pub(super) struct Begin<'a> {
    pub(super) method: Method,
    pub(super) name: &'a str,
    pub(super) route: &'a Route,
    pub(super) request_id: Option<&'a str>,
    pub(super) session_id: Option<&'a str>,
    /// Only if they are on.
    pub(super) arguments: Option<&'a str>,
    pub(super) call_id: String,
}

/// The attributes at the end.
pub(super) struct End<'a> {
    pub(super) outcome: Outcome,
    pub(super) error_type: Option<&'a str>,
    pub(super) status_code: Option<&'a str>,
    /// That of a JSON-RPC error, as it is.
    pub(super) message: Option<&'a str>,
    pub(super) error: Option<&'a str>,
    pub(super) attempts: u32,
    pub(super) waited_ms: u64,
}

impl Begin<'_> {
    /// A span with the names of the [telemetry](crate::telemetry#spans) page.
    pub(super) fn open(&self) -> Span {
        let shown = |text| escaped(text, NAME_LIMIT, &[]);
        let target = Target::new(self.method, shown(self.name));
        // All attributes that are known at once: a subscriber formats again for each later one.
        tracing::info_span!(
            "mcp.call",
            "otel.name" = target.span_name().as_str(),
            "otel.kind" = self.route.side().as_str(),
            "mcp.method.name" = target.method(),
            "gen_ai.operation.name" = target.operation(),
            "gen_ai.tool.name" = target.tool(),
            "gen_ai.prompt.name" = target.prompt(),
            "mcp.resource.uri" = target.uri(),
            "gen_ai.tool.call.arguments" = self.arguments.map(shown_message),
            "gen_ai.tool.call.result" = Empty,
            "jsonrpc.request.id" = self.request_id.map(id),
            "mcp.session.id" = self.session_id.map(shown),
            "mcp.protocol.version" = self.route.protocol_version().map(shown),
            "network.transport" = self.route.transport().map(Transport::as_str),
            "server.address" = self.route.server_address().map(shown),
            "server.port" = self.route.server_port().map(i64::from),
            "mcp_resilience.call_id" = self.call_id.as_str(),
            "mcp_resilience.outcome" = Empty,
            "mcp_resilience.attempts" = Empty,
            "mcp_resilience.waited_ms" = Empty,
            "error.type" = Empty,
            "rpc.response.status_code" = Empty,
            "otel.status_code" = Empty,
            "otel.status_description" = Empty,
        )
    }
}

impl End<'_> {
    /// Records how the call ended, as on the line.
    pub(super) fn close(&self, span: &Span) {
        if self.is_plain_success() {
            self.tell_opentelemetry(span);
        } else {
            self.record(span);
        }
    }

    /// A success of the first attempt, without a wait.
    fn is_plain_success(&self) -> bool {
        self.outcome == Outcome::Success && self.attempts == 1 && self.waited_ms == 0
    }

    /// Sets the attributes without a record: for each record, some subscribers write all fields again.
    fn tell_opentelemetry(&self, span: &Span) {
        telemetry::set(span, "mcp_resilience.outcome", self.outcome.as_str());
        telemetry::set(span, "mcp_resilience.attempts", 1);
        telemetry::set(span, "mcp_resilience.waited_ms", 0);
    }

    fn record(&self, span: &Span) {
        let description = self.error_type.map(|_| match self.message {
            Some(message) => shown(message, NAME_LIMIT),
            None => escaped(self.error.unwrap_or_default(), NAME_LIMIT, &[]),
        });
        // Recorded at once, since some subscribers write all fields again for each record.
        tracing::record_all!(
            span,
            "mcp_resilience.outcome" = self.outcome.as_str(),
            "mcp_resilience.attempts" = i64::from(self.attempts),
            "mcp_resilience.waited_ms" = telemetry::number(self.waited_ms),
            "error.type" = self.error_type,
            "rpc.response.status_code" = self.error_type.and(self.status_code),
            "otel.status_code" = self.error_type.map(|_| "ERROR"),
            "otel.status_description" = description.as_deref(),
        );
    }
}

/// Records the result of the call.
pub(super) fn result<'a>(span: &Span, texts: impl Iterator<Item = &'a str>) {
    let mut all = String::new();
    for text in texts {
        if !all.is_empty() {
            all.push('\n');
        }
        all.push_str(&crate::text::redacted(text));
        if all.len() > MESSAGE_LIMIT {
            break;
        }
    }
    if !all.is_empty() {
        span.record("gen_ai.tool.call.result", shown_message(&all));
    }
}

fn shown_message(redacted: &str) -> String {
    escaped(redacted, MESSAGE_LIMIT, &[])
}

/// A number as it is, and a string without its quotes.
fn id(json: &str) -> String {
    let text = serde_json::from_str::<String>(json);
    text.map_or_else(|_| json.to_owned(), |text| escaped(&text, NAME_LIMIT, &[]))
}
