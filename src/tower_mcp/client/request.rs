use crate::call::{self, Method};
use ::tower_mcp::protocol::{CallToolParams, GetPromptParams, McpResponse, ReadResourceParams};
use serde_json::{Value, json};

/// A request to a server.
pub type Request = call::Request<CallToolParams, ReadResourceParams, GetPromptParams>;

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
