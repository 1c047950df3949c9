use crate::failure::BoxError;
use std::fmt;

/// Any error, for a handler that uses `?`. A [`Failure`](crate::Failure) keeps its class. Any other
/// error is classified by [`classify`](crate::classify), and is mostly a crash.
///
/// In a task that the handler spawned, the error cannot be kept. It is logged there at ERROR with an
/// id, and the call that returns it is a crash with that id. So return the error itself from the
/// task, and make it an `AnyError` in the handler.
///
/// Like every such type, it does not implement [`Error`](std::error::Error).
///
/// ```
/// use mcp_resilience::{Failure, rmcp::AnyError};
///
/// fn price(path: &str) -> Result<u32, AnyError> {
///     let text = std::fs::read_to_string(path)?; // an unknown error: a crash
///     if text.is_empty() {
///         return Err(Failure::not_found("no price today").into()); // keeps its class
///     }
///     Ok(text.trim().parse()?)
/// }
///
/// assert!(price("/no/such/file").is_err());
/// ```
pub struct AnyError(BoxError);

impl AnyError {
    pub(crate) fn into_inner(self) -> BoxError {
        self.0
    }
}

impl<E: Into<BoxError>> From<E> for AnyError {
    fn from(error: E) -> Self {
        Self(error.into())
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
