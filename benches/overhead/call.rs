use mcp_resilience::call::{Arguments, Flagged, ToolCall, ToolResult};
use serde_json::{Map, Value, json};
use std::{
    convert::Infallible,
    future::{Ready, ready},
    task::{Context, Poll},
};
use tower::Service;

/// A request as an SDK holds it: a name, three arguments, `_meta`.
#[derive(Clone, Debug)]
pub(crate) struct Call {
    name: String,
    arguments: Map<String, Value>,
    meta: Map<String, Value>,
}

impl Call {
    pub(crate) fn new() -> Self {
        let object = |value: Value| match value {
            Value::Object(object) => object,
            _ => Map::new(),
        };
        Self {
            name: "search_catalog".to_owned(),
            arguments: object(json!({
                "query": "desert planets with giant worms",
                "limit": 20,
                "language": "en",
            })),
            meta: object(json!({"progressToken": 17})),
        }
    }
}

impl ToolCall for Call {
    fn name(&self) -> &str {
        &self.name
    }

    fn arguments(&self) -> Option<Arguments<'_>> {
        Some((&self.arguments).into())
    }

    fn meta(&self) -> Option<&Map<String, Value>> {
        Some(&self.meta)
    }
}

/// A result with a text, made before it is measured.
#[derive(Debug)]
pub(crate) struct Answer {
    text: &'static str,
    is_error: bool,
}

impl ToolResult for Answer {
    fn is_error(&self) -> bool {
        self.is_error
    }

    fn texts(&self) -> impl Iterator<Item = &str> {
        std::iter::once(self.text)
    }

    fn flag(&mut self) {
        self.is_error = true;
    }

    fn from_failure(_: Flagged) -> Option<Self> {
        None
    }
}

/// Answers at once: whatever is measured above it is the layers'.
#[derive(Clone, Debug)]
pub(crate) struct Tool;

impl Service<Call> for Tool {
    type Response = Answer;
    type Error = Infallible;
    type Future = Ready<Result<Answer, Infallible>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, _: Call) -> Self::Future {
        ready(Ok(Answer {
            text: "Dune by Frank Herbert",
            is_error: false,
        }))
    }
}
