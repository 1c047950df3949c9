use crate::call::{Arguments, Method, ToolCall};
use ::tower_mcp::protocol::{CallToolParams, GetPromptParams, McpResponse, ReadResourceParams};
use serde_json::{Value, json};
use std::fmt;

/// A request to a server.
///
/// Its `Debug` shows neither arguments nor `_meta`, which may hold secrets.
#[derive(Clone)]
#[non_exhaustive]
pub enum Request {
    /// `tools/call`.
    Tool(CallToolParams),
    /// `resources/read`.
    Resource(ReadResourceParams),
    /// `prompts/get`.
    Prompt(GetPromptParams),
}

impl From<CallToolParams> for Request {
    fn from(params: CallToolParams) -> Self {
        Self::Tool(params)
    }
}

impl From<ReadResourceParams> for Request {
    fn from(params: ReadResourceParams) -> Self {
        Self::Resource(params)
    }
}

impl From<GetPromptParams> for Request {
    fn from(params: GetPromptParams) -> Self {
        Self::Prompt(params)
    }
}

impl Request {
    /// Whether it continues a call: what it continues may be used up by a first attempt.
    pub(super) fn is_continuation(&self) -> bool {
        match self {
            Self::Tool(p) => p.input_responses.is_some() || p.request_state.is_some(),
            Self::Resource(p) => p.input_responses.is_some() || p.request_state.is_some(),
            Self::Prompt(p) => p.input_responses.is_some() || p.request_state.is_some(),
        }
    }

    /// The parameters as they are sent.
    pub(super) fn params(&self) -> serde_json::Result<Value> {
        match self {
            Self::Tool(params) => serde_json::to_value(params),
            Self::Resource(params) => serde_json::to_value(params),
            Self::Prompt(params) => serde_json::to_value(params),
        }
    }

    /// Reads an answer. A call that goes on elsewhere has its own variant.
    pub(super) fn answer(method: Method, mut answer: Value) -> serde_json::Result<McpResponse> {
        match answer.get("resultType").and_then(Value::as_str) {
            Some("input_required") => {
                return serde_json::from_value(answer).map(McpResponse::InputRequired);
            }
            Some("task") => {
                return serde_json::from_value(answer).map(McpResponse::FinalCreateTask);
            }
            _ => {}
        }
        match method {
            Method::CallTool if answer.get("task").is_some_and(Value::is_object) => {
                serde_json::from_value(answer).map(McpResponse::CreateTask)
            }
            Method::CallTool => {
                if let Some(object) = answer.as_object_mut()
                    && object.contains_key("structuredContent")
                {
                    // Some servers leave it out then.
                    object.entry("content").or_insert_with(|| json!([]));
                }
                serde_json::from_value(answer).map(McpResponse::CallTool)
            }
            Method::ReadResource => serde_json::from_value(answer).map(McpResponse::ReadResource),
            Method::GetPrompt => serde_json::from_value(answer).map(McpResponse::GetPrompt),
        }
    }
}

impl ToolCall for Request {
    fn name(&self) -> &str {
        match self {
            Self::Tool(params) => params.name(),
            Self::Resource(params) => params.name(),
            Self::Prompt(params) => params.name(),
        }
    }

    fn method(&self) -> Method {
        match self {
            Self::Tool(params) => params.method(),
            Self::Resource(params) => params.method(),
            Self::Prompt(params) => params.method(),
        }
    }

    fn arguments(&self) -> Option<Arguments<'_>> {
        match self {
            Self::Tool(params) => params.arguments(),
            Self::Resource(_) | Self::Prompt(_) => None,
        }
    }
}

impl fmt::Debug for Request {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Request")
            .field("method", &self.method())
            .field("name", &self.name())
            .finish_non_exhaustive()
    }
}
