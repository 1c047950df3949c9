//! A call over stdio, as it was written.

use crate::call::{IdempotencyKey, InvalidKey, Method};
use ::tower_mcp::{
    RouterRequest,
    protocol::{McpRequest, RequestId},
};
use serde_json::Value;

/// All names of a key contain this, in any case.
const NAME: &[u8] = b"idempotency";

/// A call as it was written.
#[derive(Debug)]
pub(super) struct Came {
    /// `None` if tower-mcp cannot read it.
    pub(super) id: Option<RequestId>,
    pub(super) request: Vec<u8>,
}

impl Came {
    /// The call in a message, with the text of the message. `None` if the message is no call.
    pub(super) fn of(message: &Value, text: impl FnOnce() -> Vec<u8>) -> Option<Self> {
        let method = message.get("method")?.as_str()?;
        Method::of_name(method).map(|_| Self {
            id: message.get("id").and_then(RequestId::from_json),
            request: text(),
        })
    }

    pub(super) fn has_id(&self, id: &RequestId) -> bool {
        self.id.as_ref() == Some(id)
    }

    /// The key in its `_meta`.
    pub(super) fn key(&self) -> Option<Result<IdempotencyKey, InvalidKey>> {
        let mut windows = self.request.windows(NAME.len());
        if !windows.any(|window| window.eq_ignore_ascii_case(NAME)) {
            return None;
        }
        let request = self.read();
        IdempotencyKey::of_request(request["params"]["_meta"].as_object(), None)
    }

    pub(super) fn read(&self) -> Value {
        serde_json::from_slice(&self.request).unwrap_or_default()
    }

    /// Whether this is the request, also if an earlier call with its id is still there.
    pub(super) fn is(&self, request: &RouterRequest) -> bool {
        let McpRequest::CallTool(params) = &request.inner else {
            return true;
        };
        let came = self.read();
        let arguments = came["params"].get("arguments").unwrap_or(&Value::Null);
        came["params"]["name"] == *params.name && *arguments == params.arguments
    }
}
