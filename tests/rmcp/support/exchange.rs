use super::Sdk;
use serde_json::{Value, json};

/// A request, its answer and its line in the log.
#[derive(Debug)]
pub(crate) struct Exchange {
    pub(crate) answer: Value,
    pub(crate) line: Value,
}

impl Exchange {
    /// The result, if there is no error.
    #[track_caller]
    pub(crate) fn result(&self) -> &Value {
        let result = self.answer.get("result");
        result.unwrap_or_else(|| panic!("no result: {:#}", self.answer))
    }

    /// Fails unless it is a success with this content, and nothing else.
    #[track_caller]
    pub(crate) fn assert_success(&self, content: &Value) {
        let wanted = match Sdk::here() {
            Sdk::Rmcp => json!({"content": content, "isError": false}),
            Sdk::TowerMcp => json!({"content": content}),
        };
        assert_eq!(self.result(), &wanted);
    }

    /// The JSON-RPC error.
    #[track_caller]
    pub(crate) fn error(&self) -> &Value {
        let error = self.answer.get("error");
        error.unwrap_or_else(|| panic!("no error: {:#}", self.answer))
    }

    /// The only block of a tool's result, which is a text.
    #[track_caller]
    pub(crate) fn text(&self) -> &str {
        let content = self.result()["content"].as_array().unwrap();
        assert_eq!(content.len(), 1, "one block: {content:#?}");
        assert_eq!(content[0]["type"], "text");
        content[0]["text"].as_str().unwrap()
    }
}
