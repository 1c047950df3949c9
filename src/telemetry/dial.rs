use super::{Cause, fail, number};
use crate::failure::Failure;
use tracing::{Instrument, Span, field::Empty};

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

    pub(crate) async fn instrument<F: Future>(&self, dial: F) -> F::Output {
        dial.instrument(self.0.clone()).await
    }

    pub(crate) fn fail(&self, failure: &Failure) {
        if !self.0.is_disabled() {
            fail(&self.0, failure);
        }
    }
}
