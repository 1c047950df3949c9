//! Implements the layers' traits for tower-mcp's own types.

use crate::{
    call::{
        Arguments, Continues, Flagged, Hints, Method, ToolCall, ToolResult, continues,
        inner_result, unflagged,
    },
    text,
};
use ::tower_mcp::protocol::{
    CallToolParams, CallToolResult, Content, GetPromptParams, GetPromptResult, McpRequest,
    McpResponse, ReadResourceParams, ReadResourceResult, ToolDefinition,
};
use serde_json::{Map, Value, json};

impl ToolCall for CallToolParams {
    fn name(&self) -> &str {
        &self.name
    }

    fn arguments(&self) -> Option<Arguments<'_>> {
        (!self.arguments.is_null()).then(|| Arguments::from(&self.arguments))
    }

    /// As it is on the wire.
    fn continuation(&self) -> Option<Value> {
        self.is_continuation().then(|| {
            json!({
                "inputResponses": self.input_responses,
                "requestState": self.request_state,
            })
        })
    }

    fn request_state_mut(&mut self) -> Option<&mut Option<String>> {
        Some(&mut self.request_state)
    }
}

impl ToolCall for ReadResourceParams {
    fn method(&self) -> Method {
        Method::ReadResource
    }

    fn name(&self) -> &str {
        &self.uri
    }
}

/// Without its arguments, which are not JSON: [`ServerCall`](super::ServerCall) has them.
impl ToolCall for GetPromptParams {
    fn method(&self) -> Method {
        Method::GetPrompt
    }

    fn name(&self) -> &str {
        &self.name
    }
}

continues! { CallToolParams ReadResourceParams GetPromptParams }

/// The hints of a request, from those of its tool.
pub(super) fn hints(request: &McpRequest, tool: Option<Hints>) -> Hints {
    match request {
        McpRequest::CallTool(params) => params.hints_of(tool),
        McpRequest::ReadResource(params) => params.hints_of(None),
        McpRequest::GetPrompt(params) => params.hints_of(None),
        _ => Hints::new(),
    }
}

/// What a tool's listing says of it.
pub(super) fn said_of(tool: &ToolDefinition) -> Hints {
    let hints = Hints::new().output_schema(tool.output_schema.is_some());
    match &tool.annotations {
        Some(said) => hints
            .read_only(said.read_only_hint)
            .idempotent(said.idempotent_hint),
        None => hints,
    }
}

impl ToolResult for CallToolResult {
    fn is_error(&self) -> bool {
        self.is_error
    }

    fn texts(&self) -> impl Iterator<Item = &str> {
        self.content.iter().filter_map(Content::as_text)
    }

    fn structured(&self) -> Option<&Value> {
        self.structured_content.as_ref()
    }

    fn meta(&self) -> Option<&Map<String, Value>> {
        self.meta.as_ref().and_then(Value::as_object)
    }

    fn is_empty(&self) -> bool {
        let is_blank = |block: &Content| block.as_text().is_some_and(text::is_blank);
        self.structured_content.is_none() && self.content.iter().all(is_blank)
    }

    fn flag(&mut self) {
        self.is_error = true;
    }

    fn from_failure(flagged: Flagged) -> Option<Self> {
        let mut result = Self::error(flagged.text);
        result.structured_content = flagged.structured;
        result.meta = flagged.meta.map(Value::Object);
        Some(result)
    }
}

/// Of the answers to all methods, a tool's result alone has a flag.
impl ToolResult for McpResponse {
    inner_result!(tool);

    /// Also answers to other methods than the three that go through the stack.
    fn is_interim(&self) -> bool {
        !matches!(
            self,
            Self::CallTool(_) | Self::ReadResource(_) | Self::GetPrompt(_)
        )
    }

    fn flag(&mut self) {
        if let Self::CallTool(result) = self {
            result.flag();
        }
    }

    fn from_failure(flagged: Flagged) -> Option<Self> {
        CallToolResult::from_failure(flagged).map(Self::CallTool)
    }
}

fn tool(response: &McpResponse) -> Option<&CallToolResult> {
    match response {
        McpResponse::CallTool(result) => Some(result),
        _ => None,
    }
}

unflagged! { ReadResourceResult; GetPromptResult; }
