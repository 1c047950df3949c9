use crate::call::{Flagged, ToolResult};
use ::rmcp::model::{CallToolResponse, GetPromptResponse, JsonObject, ReadResourceResponse};
use serde_json::Value;

/// The answer of a server to a [`Request`](super::Request) of the same kind.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Answer {
    /// To `tools/call`.
    Tool(CallToolResponse),
    /// To `resources/read`.
    Resource(ReadResourceResponse),
    /// To `prompts/get`.
    Prompt(GetPromptResponse),
}

impl Answer {
    fn tool(&self) -> Option<&CallToolResponse> {
        match self {
            Self::Tool(response) => Some(response),
            Self::Resource(_) | Self::Prompt(_) => None,
        }
    }
}

impl ToolResult for Answer {
    fn is_error(&self) -> bool {
        self.tool().is_some_and(ToolResult::is_error)
    }

    fn is_interim(&self) -> bool {
        match self {
            Self::Tool(response) => response.is_interim(),
            Self::Resource(response) => response.is_interim(),
            Self::Prompt(response) => response.is_interim(),
        }
    }

    fn texts(&self) -> impl Iterator<Item = &str> {
        self.tool().into_iter().flat_map(ToolResult::texts)
    }

    fn structured(&self) -> Option<&Value> {
        self.tool().and_then(ToolResult::structured)
    }

    fn meta(&self) -> Option<&JsonObject> {
        self.tool().and_then(ToolResult::meta)
    }

    fn is_empty(&self) -> bool {
        self.tool().is_some_and(ToolResult::is_empty)
    }

    fn flag(&mut self) {
        if let Self::Tool(response) = self {
            response.flag();
        }
    }

    fn from_failure(flagged: Flagged) -> Option<Self> {
        CallToolResponse::from_failure(flagged).map(Self::Tool)
    }
}
