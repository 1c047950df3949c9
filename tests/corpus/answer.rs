//! A call, and a result that is the JSON that was sent.

use mcp_resilience::call::{Flagged, Hints, ToolCall, ToolResult};
use serde_json::{Map, Value};

/// A call of a tool without hints, or of one that may run twice.
#[derive(Clone)]
pub(crate) struct Call(pub(crate) Hints);

impl ToolCall for Call {
    fn name(&self) -> &'static str {
        "book"
    }

    fn hints(&self) -> Hints {
        self.0
    }
}

/// Both.
pub(crate) fn calls() -> [Call; 2] {
    [Call(Hints::new()), Call(Hints::new().idempotent(true))]
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Answer(pub(crate) Value);

impl ToolResult for Answer {
    fn is_error(&self) -> bool {
        self.0["isError"] == true
    }

    fn is_interim(&self) -> bool {
        let kind = self.0.get("resultType");
        kind.is_some_and(|kind| kind != "complete")
    }

    fn texts(&self) -> impl Iterator<Item = &str> {
        let blocks = self.0["content"].as_array().into_iter().flatten();
        blocks.filter_map(|block| block["text"].as_str())
    }

    fn structured(&self) -> Option<&Value> {
        self.0.get("structuredContent")
    }

    fn meta(&self) -> Option<&Map<String, Value>> {
        self.0.get("_meta")?.as_object()
    }

    fn flag(&mut self) {
        self.0["isError"] = true.into();
    }

    fn from_failure(flagged: Flagged) -> Option<Self> {
        Some(Self(
            serde_json::json!({"isError": true, "text": flagged.text}),
        ))
    }
}
