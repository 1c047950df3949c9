//! A call over stdio, as it was written.

use crate::call::{IdempotencyKey, InvalidKey, Method};
use ::tower_mcp::{
    RouterRequest,
    inspection::{McpDirection, McpInspector},
    is_protocol_version_compiled,
    protocol::{
        JsonRpcRequest, McpRequest, PROTOCOL_VERSION_2026_07_28, RequestId, validate_meta_object,
    },
};
use serde::Serialize;
use serde_json::{Value, to_value};

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
        if !self.may_have_key() {
            return None;
        }
        let request = self.read();
        IdempotencyKey::of_request(request["params"]["_meta"].as_object(), None)
    }

    /// Cheaper than to read it.
    pub(super) fn may_have_key(&self) -> bool {
        let mut windows = self.request.windows(NAME.len());
        windows.any(|window| window.eq_ignore_ascii_case(NAME))
    }

    pub(super) fn read(&self) -> Value {
        serde_json::from_slice(&self.request).unwrap_or_default()
    }

    /// Whether tower-mcp makes this request of it. Another call may have the same id.
    pub(super) fn is(&self, request: &RouterRequest) -> bool {
        let came = self.request().filter(|_| !self.has_invalid_meta());
        match (came, &request.inner) {
            (Some(McpRequest::CallTool(came)), McpRequest::CallTool(params)) => {
                equal(&came, params)
            }
            (Some(McpRequest::ReadResource(came)), McpRequest::ReadResource(params)) => {
                equal(&came, params)
            }
            (Some(McpRequest::GetPrompt(came)), McpRequest::GetPrompt(params)) => {
                equal(&came, params)
            }
            _ => false,
        }
    }

    fn request(&self) -> Option<McpRequest> {
        let request: JsonRpcRequest = serde_json::from_slice(&self.request).ok()?;
        if request.params.as_ref().is_some_and(Value::is_array) {
            // tower-mcp refuses it, but serde would take its items for members.
            return None;
        }
        McpRequest::from_jsonrpc(&request).ok()
    }

    /// Whether tower-mcp refuses it for its parameters, as a call of this method in this revision.
    pub(super) fn has_invalid_params(&self, method: &str, revision: &str) -> bool {
        let request = self.read();
        let Ok(inspector) = McpInspector::new(revision) else {
            return false;
        };
        let inspected = inspector.inspect(&request, Some(McpDirection::ClientToServer));
        request["method"] == method && inspected.is_err()
    }

    /// Whether tower-mcp refuses it for its `_meta`, although the parameters are valid. It asks more of a
    /// call that declares a revision, if it is built with the revision that has no sessions.
    pub(super) fn has_invalid_meta(&self) -> bool {
        if !is_protocol_version_compiled(PROTOCOL_VERSION_2026_07_28) {
            return false;
        }
        let request = self.read();
        let meta = &request["params"]["_meta"];
        let (revision, capabilities) = (
            meta.get("io.modelcontextprotocol/protocolVersion"),
            meta.get("io.modelcontextprotocol/clientCapabilities"),
        );
        // `null` declares a revision too, and is none.
        let is_whole = revision.is_some_and(Value::is_string)
            && capabilities.is_some_and(Value::is_object)
            && validate_meta_object(meta).is_ok();
        revision.is_some() && !is_whole
    }
}

fn equal<T: Serialize>(one: &T, other: &T) -> bool {
    matches!((to_value(one), to_value(other)), (Ok(one), Ok(other)) if one == other)
}
