//! Implements the layers' traits for rmcp's own types.

use crate::{
    call::{Arguments, Continues, Flagged, Method, ToolCall, ToolResult, inner_result, unflagged},
    text,
};
use ::rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, GetPromptRequestParams,
    GetPromptResponse, GetPromptResult, JsonObject, MetaObject, ReadResourceRequestParams,
    ReadResourceResponse, ReadResourceResult, RequestMetaObject,
};
use serde_json::{Value, json};

impl ToolCall for CallToolRequestParams {
    fn name(&self) -> &str {
        &self.name
    }

    fn arguments(&self) -> Option<Arguments<'_>> {
        self.arguments.as_ref().map(Arguments::from)
    }

    fn meta(&self) -> Option<&JsonObject> {
        self.meta.as_ref().map(object)
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

impl ToolCall for ReadResourceRequestParams {
    fn method(&self) -> Method {
        Method::ReadResource
    }

    fn name(&self) -> &str {
        &self.uri
    }

    fn meta(&self) -> Option<&JsonObject> {
        self.meta.as_ref().map(object)
    }
}

impl ToolCall for GetPromptRequestParams {
    fn method(&self) -> Method {
        Method::GetPrompt
    }

    fn name(&self) -> &str {
        &self.name
    }

    fn arguments(&self) -> Option<Arguments<'_>> {
        self.arguments.as_ref().map(Arguments::from)
    }

    fn meta(&self) -> Option<&JsonObject> {
        self.meta.as_ref().map(object)
    }
}

pub(super) fn object(meta: &RequestMetaObject) -> &JsonObject {
    &meta.0.0
}

impl ToolResult for CallToolResult {
    fn is_error(&self) -> bool {
        self.is_error == Some(true)
    }

    fn is_interim(&self) -> bool {
        self.result_type
            .as_ref()
            .is_some_and(|kind| !kind.is_complete())
    }

    fn texts(&self) -> impl Iterator<Item = &str> {
        let texts = self.content.iter().filter_map(ContentBlock::as_text);
        texts.map(|text| text.text.as_str())
    }

    fn structured(&self) -> Option<&Value> {
        self.structured_content.as_ref()
    }

    fn meta(&self) -> Option<&JsonObject> {
        self.meta.as_ref().map(|meta| &meta.0)
    }

    fn is_empty(&self) -> bool {
        let is_blank = |block: &ContentBlock| {
            block
                .as_text()
                .is_some_and(|block| text::is_blank(&block.text))
        };
        self.structured_content.is_none() && self.content.iter().all(is_blank)
    }

    fn flag(&mut self) {
        self.is_error = Some(true);
    }

    fn from_failure(flagged: Flagged) -> Option<Self> {
        let mut result = Self::error(vec![ContentBlock::text(flagged.text)]);
        result.structured_content = flagged.structured;
        result.meta = flagged.meta.map(MetaObject);
        Some(result)
    }
}

impl ToolResult for CallToolResponse {
    inner_result!(complete);

    fn is_interim(&self) -> bool {
        complete(self).is_none_or(ToolResult::is_interim)
    }

    fn flag(&mut self) {
        if let Self::Complete(result) = self {
            result.flag();
        }
    }

    fn from_failure(flagged: Flagged) -> Option<Self> {
        CallToolResult::from_failure(flagged).map(Self::Complete)
    }
}

fn complete(response: &CallToolResponse) -> Option<&CallToolResult> {
    match response {
        CallToolResponse::Complete(result) => Some(result),
        _ => None,
    }
}

unflagged! {
    ReadResourceResult;
    GetPromptResult;
    ReadResourceResponse, interim unless ReadResourceResponse::Complete;
    GetPromptResponse, interim unless GetPromptResponse::Complete;
}
