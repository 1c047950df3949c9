use crate::call::{Flagged, ToolResult, inner_result};
use ::rmcp::model::{CallToolResponse, GetPromptResponse, ReadResourceResponse};

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
    inner_result!(Self::tool);

    fn is_interim(&self) -> bool {
        match self {
            Self::Tool(response) => response.is_interim(),
            Self::Resource(response) => response.is_interim(),
            Self::Prompt(response) => response.is_interim(),
        }
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
