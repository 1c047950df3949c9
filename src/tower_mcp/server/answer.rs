use crate::call::{Flagged, ToolResult};
use ::tower_mcp::protocol::McpResponse;
use serde_json::{Map, Value};

/// The answer of a router to a [`ServerCall`](super::ServerCall), on its way up.
///
/// It is the [`McpResponse`] inside, except that it [is from a handler](ToolResult::is_from_handler):
/// its envelope gives class, code and wait, and never says that the call did not run or may run
/// again. A layer that answers by itself converts an `McpResponse` to it.
#[derive(Clone, Debug)]
pub struct ServerAnswer(McpResponse);

impl ServerAnswer {
    /// The answer.
    #[must_use]
    pub const fn get_ref(&self) -> &McpResponse {
        &self.0
    }

    /// The answer, mutably.
    #[must_use]
    pub const fn get_mut(&mut self) -> &mut McpResponse {
        &mut self.0
    }

    /// Returns the answer.
    #[must_use]
    pub fn into_inner(self) -> McpResponse {
        self.0
    }
}

impl From<McpResponse> for ServerAnswer {
    fn from(answer: McpResponse) -> Self {
        Self(answer)
    }
}

impl From<ServerAnswer> for McpResponse {
    fn from(answer: ServerAnswer) -> Self {
        answer.0
    }
}

impl ToolResult for ServerAnswer {
    fn is_error(&self) -> bool {
        self.0.is_error()
    }

    fn is_from_handler(&self) -> bool {
        true
    }

    fn is_interim(&self) -> bool {
        self.0.is_interim()
    }

    fn texts(&self) -> impl Iterator<Item = &str> {
        self.0.texts()
    }

    fn structured(&self) -> Option<&Value> {
        self.0.structured()
    }

    fn meta(&self) -> Option<&Map<String, Value>> {
        self.0.meta()
    }

    fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    fn flag(&mut self) {
        self.0.flag();
    }

    fn from_failure(flagged: Flagged) -> Option<Self> {
        McpResponse::from_failure(flagged).map(Self)
    }
}
