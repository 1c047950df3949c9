//! The edge of the stack: a failure that a model can use becomes a result flagged `isError: true`.
//!
//! | The inner service answers | This layer answers |
//! |---|---|
//! | a result, flagged or not | the same, untouched |
//! | an unflagged result whose structured content is clearly a failure, unless the tool may declare an `outputSchema` | the same, flagged, and a warning in the log |
//! | a failure that holds the tool's own flagged result | that result, untouched |
//! | a failure that holds a JSON-RPC error | the failure: the host gets code, message and data as they were |
//! | a failure of [`Protocol`](crate::Class::Protocol), [`Cancelled`](crate::Class::Cancelled) or [`Fatal`](crate::Class::Fatal) | the failure |
//! | a [`Crash`](crate::Class::Crash) | flagged: `Error executing tool NAME (call ID)`, and nothing of the error. The log has it under that id |
//! | any other failure | flagged: `Error executing tool NAME: MESSAGE`, and advice |
//!
//! The advice is one of these: how long to wait, which argument to correct, which tool to use
//! instead. If the call may have run, and a repeat could do harm, the text says so and asks the model
//! to verify first.
//!
//! If the message is blank, a phrase of the class takes its place. The sources of an error are never
//! shown to a model. They are for the log.
//!
//! A JSON-RPC error of the server stays a JSON-RPC error, also for an unknown tool: as a result it
//! would lose its code and its data. A cancelled call gets an error too, for the host, since no model
//! waits for it.
//!
//! A result that the tool could not serialize is a failure like any other, and is not repeated. As an
//! error of an unknown type it is a crash; a [rule](crate::classify::ClassifyLayer::rule) can make
//! [`Failure::invalid_output`](crate::Failure::invalid_output) of it.
//!
//! # The envelope
//!
//! A flagged result that is built here has an envelope for programs: `code`, `error`, `status`,
//! `retryAfter` (whole seconds, rounded up), `retryable` and `attempts`. It is in the structured
//! content if the tool is known to declare no `outputSchema`
//! ([`Hints::output_schema`](crate::call::Hints::output_schema)). Otherwise it is in `_meta` under
//! [`META_KEY`], because widespread clients check the structured content of errors against the
//! schema, and hide an error that does not fit.
//!
//! # Resources and prompts
//!
//! Their results have no flag, so a failure stays an error for the host. If it has no JSON-RPC error,
//! it gets one:
//!
//! | The failure | Code | Content |
//! |---|---|---|
//! | a missing resource | `-32602` | the message, and the URI in `data` |
//! | an invalid argument | `-32602` | the message |
//! | another deliberate failure | `-32603` | its message |
//! | any other | `-32603` | the URI or the prompt's name only |
//!
//! # A failure without a flag
//!
//! Structured content with a documented `code` of the [table](crate::failure#the-classes) and a text
//! in `error` or `message` is flagged by default, and never repeated. These stay a success: a
//! document that only has an `error` key, an empty result, and any result of a tool that declares an
//! `outputSchema`. [`IsErrorLayer::trust_unflagged`] turns this off. [`IsErrorLayer::detect`] adds
//! detectors that guess more; [`detect`] has some.
//!
//! # When to use it
//!
//! Outside every layer that acts on failures, since those do not see results as failures. Inside
//! [`call_log`](crate::call_log). Leave it out in a client that wants the typed
//! [`Failure`](crate::Failure).
//!
//! # Example
//!
//! ```
//! use mcp_resilience::{Failure, is_error::IsErrorLayer};
//! # use mcp_resilience::call::{Flagged, ToolCall, ToolResult};
//! # struct Call(&'static str);
//! # impl ToolCall for Call {
//! #     fn name(&self) -> &str { self.0 }
//! # }
//! # struct Answer { is_error: bool, text: String }
//! # impl ToolResult for Answer {
//! #     fn is_error(&self) -> bool { self.is_error }
//! #     fn flag(&mut self) { self.is_error = true }
//! #     fn from_failure(flagged: Flagged) -> Option<Self> { Some(Answer { is_error: true, text: flagged.text }) }
//! # }
//! use std::time::Duration;
//! use tower::{Service, ServiceBuilder, ServiceExt};
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Failure> {
//!
//! let mut tools = ServiceBuilder::new()
//!     .layer(IsErrorLayer::new())
//!     .service_fn(async |_: Call| {
//!         let busy = Failure::rate_limited(Some(Duration::from_secs(30)));
//!         Err::<Answer, _>(busy.before_running())
//!     });
//!
//! let answer = tools.ready().await?.call(Call("search")).await?;
//! assert!(answer.is_error);
//! assert_eq!(
//!     answer.text,
//!     "Error executing tool search: too many calls. Wait 30 s before calling it again."
//! );
//! # Ok(())
//! # }
//! ```

pub mod detect;
mod envelope;
mod future;
mod layer;
mod protocol;
mod service;
mod target;
mod text;

pub use self::{future::ResponseFuture, layer::IsErrorLayer, service::IsError};
pub(crate) use self::{future::flag, target::Target};
pub use crate::failure::META_KEY;
