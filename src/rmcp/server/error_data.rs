//! From a failure to the error that rmcp sends.

use crate::{
    failure::{BoxError, Failure, Returned, RpcError},
    serve::{AnyError, thrown},
};
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
        data(thrown::throw(failure.into()))
    }
}

/// As above, with any error.
impl From<AnyError> for ErrorData {
    fn from(error: AnyError) -> Self {
        data(thrown::throw(error.into_inner()))
    }
}

/// As above: a flagged result, where the class says so.
impl IntoCallToolResult for Failure {
    fn into_call_tool_result(self) -> Result<CallToolResponse, ErrorData> {
        Err(self.into())
    }
}

/// As above.
impl IntoCallToolResult for AnyError {
    fn into_call_tool_result(self) -> Result<CallToolResponse, ErrorData> {
        Err(self.into())
    }
}

/// What a client gets for a failure that no flagged result stands for.
pub(super) fn answer(failure: &Failure) -> ErrorData {
    data(thrown::answer(failure))
}

pub(super) fn data(error: RpcError) -> ErrorData {
    ErrorData::new(ErrorCode(error.code), error.message, error.data)
}

/// Runs a handler, and gives what it threw as it threw it; but for what only its author may say of
/// the call.
pub(super) async fn catch<T>(
    handler: impl Future<Output = Result<T, ErrorData>>,
) -> Result<T, BoxError> {
    let exchanging = async {
        let answer = handler.await;
        answer.map_err(|error| Returned::by_handler(thrown::exchange(rpc_error(error))))
    };
    thrown::keeping(exchanging).await
}

fn rpc_error(error: ErrorData) -> RpcError {
    RpcError::new(error.code.0, error.message, error.data)
}
