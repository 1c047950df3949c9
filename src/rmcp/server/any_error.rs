use super::error_data;
use crate::{failure::BoxError, serve::thrown};
use ::rmcp::{ErrorData, handler::server::tool::IntoCallToolResult, model::CallToolResponse};
use std::fmt;

/// Any error, for a handler that uses `?`: a [`Failure`](crate::Failure) keeps its class, any
/// other error is what [`classify`](crate::classify) makes of it, which mostly is a crash.
///
/// In a task that the handler spawned it cannot be kept: it is logged there, at ERROR with an id, and
/// the call that returns it is a crash that names the id. Hand the error itself out of the task, and
/// make it an `AnyError` in the handler.
///
/// Like every such type it is no [`Error`](std::error::Error) itself.
pub struct AnyError(pub(super) BoxError);

impl<E: Into<BoxError>> From<E> for AnyError {
    fn from(error: E) -> Self {
        Self(error.into())
    }
}

impl From<AnyError> for ErrorData {
    fn from(error: AnyError) -> Self {
        error_data::data(thrown::throw(error.0))
    }
}

impl IntoCallToolResult for AnyError {
    fn into_call_tool_result(self) -> Result<CallToolResponse, ErrorData> {
        Err(self.into())
    }
}

impl fmt::Debug for AnyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl fmt::Display for AnyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}
