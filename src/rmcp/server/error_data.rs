//! Converts a failure to the error that rmcp sends.

use crate::{
    failure::{BoxError, Failure, Returned, RpcError},
    serve::{AnyError, thrown},
};
use ::rmcp::{
    ErrorData,
    handler::server::tool::IntoCallToolResult,
    model::{CallToolResponse, ErrorCode},
};

/// In a handler that [`Resilient`](super::Resilient) wraps, the failure itself reaches the stack,
/// with its class and its sources. Elsewhere it becomes a JSON-RPC error: its own if it has one, else
/// `-32603` with its message. Of a crash, only an id is sent, which the log has too.
impl From<Failure> for ErrorData {
    fn from(failure: Failure) -> Self {
        data(thrown::throw(failure.into()))
    }
}

/// As above, for any error.
impl From<AnyError> for ErrorData {
    fn from(error: AnyError) -> Self {
        data(thrown::throw(error.into_inner()))
    }
}

/// As above: a flagged result, if the class allows it.
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

pub(super) fn data(error: RpcError) -> ErrorData {
    ErrorData::new(ErrorCode(error.code), error.message, error.data)
}

/// Runs a handler, and returns its error with its original type, without the claims that only its
/// author may make.
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
