//! From a failure to the error that rmcp sends.

use super::thrown;
use crate::failure::{BoxError, Class, Failure};
use ::rmcp::{
    ErrorData,
    handler::server::tool::IntoCallToolResult,
    model::{CallToolResponse, ErrorCode},
};

/// In a handler that [`Resilient`](super::Resilient) wraps, the failure itself gets out, with its
/// class and its sources. Anywhere else it becomes a JSON-RPC error: its own if it has one, else
/// `-32603` with its message, and of a crash nothing but an id, under which the log has it.
impl From<Failure> for ErrorData {
    fn from(failure: Failure) -> Self {
        throw(failure.into())
    }
}

/// As above: a flagged result, where the class says so.
impl IntoCallToolResult for Failure {
    fn into_call_tool_result(self) -> Result<CallToolResponse, ErrorData> {
        Err(self.into())
    }
}

pub(super) fn throw(error: BoxError) -> ErrorData {
    let meanwhile = match error.downcast_ref::<Failure>() {
        Some(failure) => answer(failure),
        None => thrown::crash(),
    };
    thrown::keep(error, meanwhile)
}

/// What a client gets for a failure that no flagged result stands for.
pub(super) fn answer(failure: &Failure) -> ErrorData {
    if let Some(error) = failure.rpc_error() {
        let message = error.message.clone();
        return ErrorData::new(ErrorCode(error.code), message, error.data.clone());
    }
    match failure.class() {
        Class::Crash => thrown::crash(),
        _ => ErrorData::internal_error(failure.to_string(), None),
    }
}
