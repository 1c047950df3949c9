use crate::call::Method;
use ::tower_mcp::{
    RouterRequest, TraceContext,
    protocol::{CallToolParams, GetPromptParams, McpRequest, ReadResourceParams, RequestId},
    router::Extensions,
};
use serde_json::Value;
use std::collections::HashMap;

/// The call that was meant by a request that cannot be read, and its arguments. Its name or id is an
/// empty text if there is none, or if it cannot be read either.
pub(super) fn read(mut request: Value) -> (RouterRequest, Option<Value>) {
    let id = request.get("id").and_then(RequestId::from_json);
    let method = request["method"].as_str().and_then(Method::of_name);
    let method = method.unwrap_or_default();
    let mut params = request.get_mut("params").map(Value::take);
    let mut param = |name: &str| params.as_mut()?.get_mut(name).map(Value::take);
    let named = |name: Option<Value>| match name {
        Some(Value::String(name)) => name,
        _ => String::new(),
    };
    let trace = param("_meta").and_then(|meta| TraceContext::from_meta(&meta));
    let arguments = param("arguments").filter(|arguments| !arguments.is_null());
    let inner = match method {
        Method::CallTool => McpRequest::CallTool(CallToolParams {
            name: named(param("name")),
            arguments: arguments.clone().unwrap_or_default(),
            input_responses: None,
            request_state: None,
            meta: None,
            task: None,
        }),
        Method::ReadResource => McpRequest::ReadResource(ReadResourceParams {
            uri: named(param("uri")),
            input_responses: None,
            request_state: None,
            meta: None,
        }),
        Method::GetPrompt => McpRequest::GetPrompt(GetPromptParams {
            name: named(param("name")),
            arguments: HashMap::new(),
            input_responses: None,
            request_state: None,
            meta: None,
        }),
    };
    let mut extensions = Extensions::new();
    if let Some(trace) = trace {
        extensions.insert(trace);
    }
    let request = RouterRequest {
        id: id.unwrap_or_else(|| RequestId::String(String::new())),
        inner,
        extensions,
    };
    (request, arguments)
}
