use mcp_resilience::{
    Delivery, Failure,
    call::{Arguments, Flagged, ToolCall, ToolResult},
};
use serde::Deserialize;
use serde_json::{Map, Value, json};
use std::{
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering::Relaxed},
    },
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

    pub(crate) fn arguments_as_json(&self) -> String {
        serde_json::to_string(&self.arguments).expect("JSON")
    }

    /// The same with 64 KiB more of arguments.
    pub(crate) fn large() -> Self {
        let mut call = Self::new();
        let notes = "A desert, a prophecy, and worms. ".repeat(2_000);
        call.arguments.insert("notes".to_owned(), notes.into());
        call
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

/// A result as an SDK holds it: blocks of text, and structured content.
#[derive(Debug)]
pub(crate) struct Answer {
    texts: Vec<String>,
    structured: Option<Value>,
    is_error: bool,
}

impl ToolResult for Answer {
    fn is_error(&self) -> bool {
        self.is_error
    }

    fn texts(&self) -> impl Iterator<Item = &str> {
        self.texts.iter().map(String::as_str)
    }

    fn structured(&self) -> Option<&Value> {
        self.structured.as_ref()
    }

    fn flag(&mut self) {
        self.is_error = true;
    }

    fn from_failure(_: Flagged) -> Option<Self> {
        None
    }
}

/// How the tool answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Text,
    Structured,
    /// With `isError: true`.
    Flagged,
    /// Every first attempt fails, before it is sent.
    SecondAttempt,
}

/// The minimal work of a tool: reads its arguments into a type, and makes a text. Its future is
/// boxed, as a handler's is, and answers at once.
#[derive(Clone, Debug)]
pub(crate) struct Tool {
    kind: Kind,
    fails: Arc<AtomicBool>,
}

impl Tool {
    pub(crate) fn new(kind: Kind) -> Self {
        Self {
            kind,
            fails: Arc::default(),
        }
    }
}

#[derive(Debug, Deserialize)]
struct Search {
    query: String,
    limit: u32,
    language: String,
}

impl Service<Call> for Tool {
    type Response = Answer;
    type Error = Failure;
    type Future = Pin<Box<dyn Future<Output = Result<Answer, Failure>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Failure>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, call: Call) -> Self::Future {
        let kind = self.kind;
        let fails = kind == Kind::SecondAttempt && !self.fails.fetch_xor(true, Relaxed);
        Box::pin(async move {
            if fails {
                return Err(Failure::unavailable(None).with_delivery(Delivery::NotSent));
            }
            let search = serde_json::from_value(Value::Object(call.arguments));
            let Search {
                query,
                limit,
                language,
            } = search.map_err(|error| Failure::invalid_input("query", &error.to_string()))?;
            let book = |id: u32| json!({"id": id, "title": "Dune", "in_stock": true});
            Ok(Answer {
                texts: vec![format!("the first {limit} of {query} in {language}")],
                structured: (kind == Kind::Structured)
                    .then(|| json!({"books": (0..8).map(book).collect::<Vec<_>>()})),
                is_error: kind == Kind::Flagged,
            })
        })
    }
}
