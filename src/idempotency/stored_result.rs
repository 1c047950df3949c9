use crate::{call::ToolResult, failure::BoxError};

/// The key in `_meta` that marks an answer from the store.
pub const REPLAYED_META: &str = "io.crates.mcp-resilience/replayed";

/// A result that can be kept in a store, and marked as an answer from there.
///
/// Implemented for the answers of the adapters. An encoded result has to be decoded field for field.
///
/// ```
/// use mcp_resilience::{
///     call::{Flagged, ToolResult},
///     failure::BoxError,
///     idempotency::StoredResult,
/// };
///
/// struct Answer {
///     text: String,
///     is_error: bool,
///     is_replayed: bool,
/// }
/// # impl ToolResult for Answer {
/// #     fn is_error(&self) -> bool { self.is_error }
/// #     fn flag(&mut self) { self.is_error = true }
/// #     fn from_failure(flagged: Flagged) -> Option<Self> {
/// #         Some(Answer { text: flagged.text, is_error: true, is_replayed: false })
/// #     }
/// # }
///
/// impl StoredResult for Answer {
///     fn encode(&self) -> Result<Vec<u8>, BoxError> {
///         Ok(serde_json::to_vec(&(&self.text, self.is_error))?)
///     }
///     fn decode(bytes: &[u8]) -> Result<Self, BoxError> {
///         let (text, is_error) = serde_json::from_slice(bytes)?;
///         Ok(Answer { text, is_error, is_replayed: false })
///     }
///     fn mark_replayed(&mut self) {
///         self.is_replayed = true;
///     }
/// }
/// ```
pub trait StoredResult: ToolResult {
    /// Writes the result.
    ///
    /// # Errors
    ///
    /// If the result cannot be written. The call is then stored as finished, without its answer.
    fn encode(&self) -> Result<Vec<u8>, BoxError>;

    /// Reads what [`encode`](Self::encode) wrote.
    ///
    /// # Errors
    ///
    /// If the bytes are not a result, or were written by a later version. The call then fails
    /// without running.
    fn decode(bytes: &[u8]) -> Result<Self, BoxError>;

    /// The `requestState` of a result that asks for input, set or not. `None` for any other result.
    /// Default: `None`.
    ///
    /// The layer puts the number of the next round in front of this state, and removes it from the
    /// state of [`ToolCall::request_state_mut`](crate::call::ToolCall::request_state_mut). Implement
    /// both or neither. See [rounds](super#rounds).
    fn request_state_mut(&mut self) -> Option<&mut Option<String>> {
        None
    }

    /// Marks the result as an answer from the store: [`REPLAYED_META`] is `true` in its `_meta`.
    fn mark_replayed(&mut self);
}
