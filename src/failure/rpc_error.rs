use serde_json::Value;

/// A JSON-RPC error, as the server sent it or as the host will get it.
///
/// The adapters convert the SDKs' types to it, so that the core does not depend on an SDK.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("{message} (json-rpc error {code})")]
#[non_exhaustive]
pub struct RpcError {
    /// The code; negative in the ranges that JSON-RPC and MCP define.
    pub code: i32,
    /// A short message for people.
    pub message: String,
    /// Any further data of the server.
    pub data: Option<Value>,
}

impl RpcError {
    /// `-32602`: invalid parameters; also an unknown tool, and since MCP 2026-07-28 a missing
    /// resource.
    pub const INVALID_PARAMS: i32 = -32602;
    /// `-32603`: an internal error.
    pub const INTERNAL_ERROR: i32 = -32603;

    /// An error with the three members of JSON-RPC.
    #[must_use]
    pub fn new(code: i32, message: impl Into<String>, data: Option<Value>) -> Self {
        Self {
            code,
            message: message.into(),
            data,
        }
    }
}
