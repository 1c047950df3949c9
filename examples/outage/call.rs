use mcp_resilience::call::{Flagged, ToolCall, ToolResult};
use serde_json::Value;

/// One call of a client.
#[derive(Clone, Copy, Debug)]
pub(super) struct Call {
    pub(super) number: usize,
}

impl ToolCall for Call {
    fn name(&self) -> &'static str {
        "foura_single"
    }
}

/// The answer: a page, or the envelope of a failure.
#[derive(Clone, Debug)]
pub(super) struct Answer {
    pub(super) envelope: Option<Value>,
}

impl Answer {
    /// The answer without its hint, for a client that ignores hints.
    pub(super) fn without_hint(mut self) -> Self {
        if let Some(Value::Object(envelope)) = &mut self.envelope {
            envelope.remove("retryAfter");
        }
        self
    }
}

impl ToolResult for Answer {
    fn is_error(&self) -> bool {
        self.envelope.is_some()
    }

    fn structured(&self) -> Option<&Value> {
        self.envelope.as_ref()
    }

    fn flag(&mut self) {
        self.envelope.get_or_insert(Value::Null);
    }

    fn from_failure(flagged: Flagged) -> Option<Self> {
        let envelope = Some(flagged.structured.unwrap_or_default());
        Some(Self { envelope })
    }
}
