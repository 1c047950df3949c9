use mcp_resilience::call::{Arguments, Flagged, ToolCall, ToolResult};
use serde_json::{Map, Value, json};
use std::{
    convert::Infallible,
    pin::Pin,
    task::{Context, Poll},
};
use tower::Service;

/// A request as an SDK holds it: a name, five arguments, `_meta`.
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
                "max_price": 12.5,
                "in_stock": true,
            })),
            meta: object(json!({"progressToken": 17})),
        }
    }
}

impl Call {
    pub(crate) fn arguments_as_json(&self) -> String {
        serde_json::to_string(&self.arguments).expect("JSON")
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

/// A result as an SDK holds it: blocks of text.
#[derive(Debug)]
pub(crate) struct Answer {
    texts: Vec<String>,
    is_error: bool,
}

impl ToolResult for Answer {
    fn is_error(&self) -> bool {
        self.is_error
    }

    fn texts(&self) -> impl Iterator<Item = &str> {
        self.texts.iter().map(String::as_str)
    }

    fn flag(&mut self) {
        self.is_error = true;
    }

    fn from_failure(_: Flagged) -> Option<Self> {
        None
    }
}

/// Answers at once and does next to nothing, so that the layers are what is counted. Its future is boxed, as a handler's
/// is.
#[derive(Clone, Debug)]
pub(crate) struct Tool;

impl Service<Call> for Tool {
    type Response = Answer;
    type Error = Infallible;
    type Future = Pin<Box<dyn Future<Output = Result<Answer, Infallible>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, call: Call) -> Self::Future {
        Box::pin(async move {
            drop(call);
            Ok(Answer {
                texts: vec!["three books are in stock".to_owned()],
                is_error: false,
            })
        })
    }
}
