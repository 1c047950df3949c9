//! The edge: every failure that a model can use becomes a result flagged `isError: true`.
//!
//! | The inner service answers | This layer answers |
//! |---|---|
//! | a result, flagged or not | the same, untouched |
//! | an unflagged result whose structured content is unmistakably a failure, of a tool that is not known to declare an `outputSchema` | the same, flagged, and a warning in the log |
//! | a failure that holds the tool's own flagged result | that result, untouched |
//! | a failure that holds a JSON-RPC error | the failure: the host gets code, message and data as they were |
//! | a failure of [`Protocol`](crate::Class::Protocol), [`Cancelled`](crate::Class::Cancelled) or [`Fatal`](crate::Class::Fatal) | the failure |
//! | a [`Crash`](crate::Class::Crash) | flagged: `Error executing tool NAME (call ID)`, and nothing of the error; the log has it under that id |
//! | any other failure | flagged: `Error executing tool NAME: MESSAGE`, and what to do |
//!
//! What to do is said only where it helps: how long to wait, which argument to correct, which tool
//! to use instead. A call that has run, or may have, and whose repeat could do harm, says so, and
//! that the model is to verify before it repeats it.
//!
//! A message that is blank gives way to a phrase for the class. The sources of an error never stand in
//! for it: they may name what a model is not to read, and are for the log. A call that was cancelled
//! is answered too: its error is for the host, since no model waits for it any more.
//!
//! An error that the server said as one of JSON-RPC stays that error, unknown tools included: turned
//! into a result it would lose its code and its data. A result that the tool could not put into
//! JSON is a failure like any other, and is not run again; as an error that nobody named it is a
//! crash, so let a [rule](crate::classify::ClassifyLayer::rule) make
//! [`Failure::invalid_output`](crate::Failure::invalid_output) of it to say more.
//!
//! # The envelope
//!
//! A flagged result that is built here carries, for programs, `code`, `error`, `status`,
//! `retryAfter` (whole seconds, rounded up), `retryable` and `attempts` in its structured content.
//! It does so only for a tool that is known to declare no `outputSchema`
//! ([`Hints::output_schema`](crate::call::Hints::output_schema)). For any other it goes into `_meta`,
//! under [`META_KEY`]: widespread clients check the structured content of errors against that schema
//! too, and hide the error when it does not fit.
//!
//! # Resources and prompts
//!
//! Their results have no flag: a failure stays an error of the protocol. It gets one if it has
//! none: a missing resource or invalid argument is `-32602` (the former with the URI in `data`), what was
//! said deliberately is `-32603` with its message, anything else is `-32603` that names the URI
//! or prompt and nothing more.
//!
//! # An unflagged failure
//!
//! On by default, and never repeated: structured content with a documented `code` of the
//! [table](crate::failure#the-classes) and a text in `error` or `message`. A document that merely has an `error`
//! key stays a success, and so does a result that is empty or says nothing of the flag, and any result
//! of a tool that declares an `outputSchema`: it answers what its schema says.
//! [`IsErrorLayer::trust_unflagged`] turns it off, [`IsErrorLayer::detect`] adds detectors that guess
//! more; [`detect`] has some.
//!
//! # When to use it
//!
//! Outside every layer that acts on failures, since those cannot see one that has become a
//! result; inside [`call_log`](crate::call_log). Leave it out in a client that wants the typed
//! [`Failure`](crate::Failure) itself.
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
