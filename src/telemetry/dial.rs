use super::{Cause, context, fail, number};
use crate::failure::Failure;
use tracing::{Span, field::Empty};

/// The span of one dial.
#[derive(Debug)]
pub(crate) struct DialSpan(Span);

impl DialSpan {
    /// Opens the span of a dial, with its cause as parent.
    pub(crate) fn open(cause: &Cause, dial: u64) -> Self {
        let span = tracing::info_span!(
            target: "mcp_resilience::telemetry",
            parent: None,
            "mcp.dial",
            "otel.name" = "dial",
            "otel.kind" = "internal",
            "mcp_resilience.dial" = number(dial),
            "error.type" = Empty,
            "rpc.response.status_code" = Empty,
            "otel.status_code" = Empty,
            "otel.status_description" = Empty,
        );
        cause.adopt(&span);
        Self(span)
    }

    /// Runs the dial. With the feature `otel`, spans that it opens are children of this one.
    ///
    /// The span is not entered: the task of a new connection often keeps the span that is current, and
    /// this one would last as long as the connection.
    pub(crate) async fn around<F: Future>(&self, dial: F) -> F::Output {
        context::below(&self.0, dial).await
    }

    pub(crate) fn fail(&self, failure: &Failure) {
        if !self.0.is_disabled() {
            fail(&self.0, failure);
        }
    }
}
