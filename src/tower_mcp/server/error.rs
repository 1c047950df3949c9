//! Converts a failure to the error that a handler returns, and to the one that tower-mcp sends.

use crate::{
    failure::{Failure, RpcError},
    serve::{AnyError, thrown},
};
use ::tower_mcp::{Error, JsonRpcError};

/// In a handler of a router that [`Resilient`](super::Resilient) wraps, the failure itself reaches
/// the stack, with its class and its sources. Elsewhere it becomes a JSON-RPC error: its own if it
/// has one, else `-32603` with its message. Of a crash, only an id is sent, which the log has too.
impl From<Failure> for Error {
    fn from(failure: Failure) -> Self {
        Self::JsonRpc(json_rpc_error(thrown::throw(failure.into())))
    }
}

/// As above, for any error.
impl From<AnyError> for Error {
    fn from(error: AnyError) -> Self {
        Self::JsonRpc(json_rpc_error(thrown::throw(error.into_inner())))
    }
}

pub(super) fn json_rpc_error(error: RpcError) -> JsonRpcError {
    JsonRpcError {
        code: error.code,
        message: error.message,
        data: error.data,
    }
}

pub(super) fn rpc_error(error: JsonRpcError) -> RpcError {
    RpcError::new(error.code, error.message, error.data)
}
