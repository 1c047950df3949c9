use mcp_resilience::call::{Flagged, ToolCall, ToolResult};
use serde_json::Value;
use std::{
    convert::Infallible,
    future::{Ready, ready},
    task::{Context, Poll},
};
use tower::Service;

/// A result as an SDK holds it; and, as a request, what the tool is to answer.
#[derive(Clone, Debug)]
pub(crate) struct Answer {
    texts: Vec<String>,
    structured: Option<Value>,
    is_error: bool,
    is_interim: bool,
}

impl Answer {
    pub(crate) fn flagged(texts: Vec<String>) -> Self {
        Self {
            texts,
            structured: None,
            is_error: true,
            is_interim: false,
        }
    }

    pub(crate) fn unflagged(structured: Option<Value>) -> Self {
        Self {
            texts: vec!["the first 20 of desert planets".to_owned()],
            structured,
            is_error: false,
            is_interim: false,
        }
    }

    /// The same as an answer that is not looked into.
    pub(crate) fn interim(self) -> Self {
        Self {
            is_interim: true,
            ..self
        }
    }
}

impl ToolCall for Answer {
    fn name(&self) -> &'static str {
        "search_catalog"
    }
}

impl ToolResult for Answer {
    fn is_error(&self) -> bool {
        self.is_error
    }

    fn is_interim(&self) -> bool {
        self.is_interim
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

/// Answers what it is given.
#[derive(Clone, Debug)]
pub(crate) struct Tool;

impl Service<Answer> for Tool {
    type Response = Answer;
    type Error = Infallible;
    type Future = Ready<Result<Answer, Infallible>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, answer: Answer) -> Self::Future {
        ready(Ok(answer))
    }
}
