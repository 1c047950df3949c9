use mcp_resilience::call::{Arguments, Flagged, ToolCall, ToolResult};
use serde::Deserialize;
use serde_json::{Map, Value, json};
use std::{
    pin::Pin,
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

/// What a tool cannot do without: it reads its arguments into a type of its own, and makes a text.
/// Its future is boxed, as a handler's is, and answers at once.
#[derive(Clone, Debug)]
pub(crate) struct Tool;

#[derive(Debug, Deserialize)]
struct Search {
    query: String,
    limit: u32,
    language: String,
}

impl Service<Call> for Tool {
    type Response = Answer;
    type Error = serde_json::Error;
    type Future = Pin<Box<dyn Future<Output = Result<Answer, serde_json::Error>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), serde_json::Error>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, call: Call) -> Self::Future {
        Box::pin(async move {
            let search: Search = serde_json::from_value(Value::Object(call.arguments))?;
            let Search {
                query,
                limit,
                language,
            } = search;
            Ok(Answer {
                texts: vec![format!("the first {limit} of {query} in {language}")],
                is_error: false,
            })
        })
    }
}
