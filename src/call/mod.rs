//! What a layer sees of a request and a result: two small traits.
//!
//! | Type | Is |
//! |---|---|
//! | [`ToolCall`] | a request on its way down: which [`Method`], which tool, its arguments and [`Hints`] |
//! | [`Progress`] | how a slow call reports that it is alive, so that limits of time follow it |
//! | [`IdempotencyKey`] | identifies a call across all its attempts |
//! | [`Cancellation`] | whether the caller cancelled a call, or only lost its connection |
//! | [`Route`] | which side of MCP the stack is on, and what carries the call: for spans and metrics |
//! | [`ToolResult`] | an answer on its way up: whether it is flagged, its text, and how to build a [`Flagged`] one |
//!
//! # When to implement them
//!
//! The adapters implement both for the types of the SDKs (see [`rmcp`](crate::rmcp)), so a service
//! over those types needs nothing. Implement them for the types of your own service. Only
//! [`ToolCall::name`] and the two methods of [`ToolResult`] without a default are required.
//!
//! # Example
//!
//! ```
//! use mcp_resilience::call::{Arguments, Flagged, Hints, ToolCall, ToolResult};
//! use serde_json::{Map, Value};
//!
//! #[derive(Clone)]
//! struct Call {
//!     tool: String,
//!     arguments: Map<String, Value>,
//! }
//!
//! impl ToolCall for Call {
//!     fn name(&self) -> &str {
//!         &self.tool
//!     }
//!     fn arguments(&self) -> Option<Arguments<'_>> {
//!         Some((&self.arguments).into())
//!     }
//!     fn hints(&self) -> Hints {
//!         Hints::new().read_only(self.tool.starts_with("get_"))
//!     }
//! }
//!
//! struct Answer {
//!     text: String,
//!     structured: Option<Value>,
//!     is_error: bool,
//! }
//!
//! impl ToolResult for Answer {
//!     fn is_error(&self) -> bool {
//!         self.is_error
//!     }
//!     fn texts(&self) -> impl Iterator<Item = &str> {
//!         std::iter::once(self.text.as_str())
//!     }
//!     fn structured(&self) -> Option<&Value> {
//!         self.structured.as_ref()
//!     }
//!     fn flag(&mut self) {
//!         self.is_error = true;
//!     }
//!     fn from_failure(flagged: Flagged) -> Option<Self> {
//!         Some(Answer {
//!             text: flagged.text,
//!             structured: flagged.structured,
//!             is_error: true,
//!         })
//!     }
//! }
//! ```

mod arguments;
mod cancellation;
mod hint_source;
mod hints;
mod idempotency_key;
mod method;
mod options;
mod progress;
#[cfg(any(feature = "rmcp", feature = "rmcp-client", feature = "tower-mcp"))]
mod request;
mod route;
#[cfg(any(feature = "rmcp", feature = "rmcp-client", feature = "tower-mcp"))]
mod sdk_result;
mod tool_call;
mod tool_result;

#[cfg(feature = "rmcp")]
pub(crate) use self::cancellation::WeakCancellation;
pub(crate) use self::progress::{Attempt, Pause, due, ends_at_ceiling};
#[cfg(any(feature = "rmcp", feature = "rmcp-client", feature = "tower-mcp"))]
pub use self::request::Request;
pub use self::{
    arguments::Arguments,
    cancellation::Cancellation,
    hint_source::HintSource,
    hints::Hints,
    idempotency_key::{IdempotencyKey, InvalidKey, KEY_META},
    method::Method,
    options::CallOptions,
    progress::{Progress, Ticker},
    route::{Route, Side, Transport},
    tool_call::ToolCall,
    tool_result::{Flagged, ToolResult},
};
#[cfg(any(feature = "rmcp", feature = "rmcp-client", feature = "tower-mcp"))]
pub(crate) use self::{
    request::{Continues, continues},
    sdk_result::{inner_result, unflagged},
};
