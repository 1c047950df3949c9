//! From a failure to the error that a handler of tower-mcp returns, and to the one that it sends.

use crate::{
    failure::{Failure, RpcError},
    serve::{AnyError, thrown},
};
use ::tower_mcp::{Error, JsonRpcError};

/// In a handler of a router that [`Resilient`](super::Resilient) wraps, the failure itself gets out,
/// with its class and its sources. Anywhere else it becomes a JSON-RPC error: its own if it has one,
/// else `-32603` with its message, and of a crash nothing but an id, under which the log has it.
impl From<Failure> for Error {
    fn from(failure: Failure) -> Self {
        Self::JsonRpc(json_rpc_error(thrown::throw(failure.into())))
    }
}

/// As above, with any error.
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
