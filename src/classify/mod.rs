//! Classifies failures. Inner services return any error and flagged results; outer layers see only
//! [`Failure`](crate::Failure)s.
//!
//! A failed call may be an `Err` of any type, or an `Ok` whose result says `isError: true`. This
//! layer turns both into an `Err(Failure)` with a [`Class`](crate::Class). So a retry, a circuit
//! breaker or any other outer middleware sees a failed tool as failed. The layer also catches panics.
//! The tool's own result stays inside the failure, and [`is_error`](crate::is_error) returns it
//! untouched.
//!
//! # How do I …
//!
//! | … | See |
//! |---|---|
//! | find out what an answer means to the stack | [the reference table](mod@reference#answers-and-their-effects) |
//! | give an error type a class | [below](#teaching-it-a-type-of-error) |
//! | teach it the field names of a server | [below](#teaching-it-an-envelope) |
//! | read a result whose shape is new | [`ClassifyLayer::result_rule`] |
//! | flag results that hide a failure | [`IsErrorLayer::detect`](crate::is_error::IsErrorLayer::detect) |
//! | say that a call did not run | [whether the tool ran](crate::failure#whether-the-tool-ran) |
//! | classify inside a circuit breaker too | [`ClassifyLayer::inside`] |
//! | keep the panics of tools off stderr | [`silence_panics`] |
//! | add a server that others meet as well | `CONTRIBUTING.md`: a line in `src/classify/built_in.rs`, and a file in `tests/corpus` |
//!
//! # When to use it
//!
//! Right around the service, or around [`reconnect`](crate::reconnect), and inside all other layers
//! of this crate. Dropping the future drops the call.
//!
//! # Teaching it a type of error
//!
//! ```
//! use mcp_resilience::{Class, Failure, classify::ClassifyLayer};
//! # use mcp_resilience::call::{Flagged, ToolResult};
//! # #[derive(Debug)]
//! # struct Answer(bool);
//! # impl ToolResult for Answer {
//! #     fn is_error(&self) -> bool { self.0 }
//! #     fn flag(&mut self) { self.0 = true }
//! #     fn from_failure(_: Flagged) -> Option<Self> { None }
//! # }
//! use tower::{Service, ServiceBuilder, ServiceExt};
//!
//! /// An error of one's own, and what it means.
//! #[derive(Debug, thiserror::Error)]
//! #[error("pool exhausted")]
//! struct PoolExhausted;
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() {
//! let mut tools = ServiceBuilder::new()
//!     .layer(ClassifyLayer::new().rule(|_: &PoolExhausted| {
//!         // It may be the tool's second query, so nothing is said of whether the tool ran.
//!         Some(Failure::at_capacity(None))
//!     }))
//!     .service_fn(async |tool: &str| match tool {
//!         "query" => Err(PoolExhausted.into()),
//!         "panic" => panic!("index out of range"),
//!         _ => Ok::<_, tower::BoxError>(Answer(true)),
//!     });
//!
//! for (tool, class) in [
//!     ("query", Class::AtCapacity),
//!     ("panic", Class::Crash),
//!     ("other", Class::Tool),
//! ] {
//!     let failure = tools.ready().await.unwrap().call(tool).await.unwrap_err();
//!     assert_eq!(failure.class(), class);
//! }
//! # }
//! ```
//!
//! # Teaching it an envelope
//!
//! If only the names are new, add them as [`Vocabulary`]. Here a server answers
//! `{"fault": {"reason": "E_BUSY", "cooldown": 20}}`:
//!
//! ```
//! use mcp_resilience::{
//!     Class,
//!     classify::{ClassifyLayer, Vocabulary},
//! };
//! # use mcp_resilience::call::{Flagged, ToolResult};
//! # use serde_json::{Value, json};
//! # #[derive(Debug)]
//! # struct Answer { structured: Value }
//! # impl ToolResult for Answer {
//! #     fn is_error(&self) -> bool { true }
//! #     fn structured(&self) -> Option<&Value> { Some(&self.structured) }
//! #     fn flag(&mut self) {}
//! #     fn from_failure(_: Flagged) -> Option<Self> { None }
//! # }
//! use std::{convert::Infallible, time::Duration};
//! use tower::{ServiceBuilder, ServiceExt};
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() {
//! let words = Vocabulary::new()
//!     .envelope_in("fault")
//!     .code_field("reason")
//!     .code("E_BUSY", Class::AtCapacity)
//!     .wait_seconds("cooldown");
//! let tools = ServiceBuilder::new()
//!     .layer(ClassifyLayer::new().vocabulary(words))
//!     .service_fn(async |_: &str| {
//!         let structured = json!({"fault": {"reason": "E_BUSY", "cooldown": 20}});
//!         Ok::<_, Infallible>(Answer { structured })
//!     });
//!
//! let failure = tools.oneshot("query").await.unwrap_err();
//! assert_eq!(failure.class(), Class::AtCapacity);
//! assert_eq!(failure.retry_after(), Some(Duration::from_secs(20)));
//! // Nobody said that it did not run: only a tool that may run twice runs again.
//! assert!(!failure.delivery().did_not_run());
//! # }
//! ```

mod catch_panic;
mod envelope;
mod error;
mod future;
mod layer;
mod lookup;
mod named;
mod places;
mod result;
#[cfg(doc)]
#[doc = include_str!("reference.md")]
pub mod reference {}
mod built_in;
pub mod retry_after;
mod rpc;
mod rules;
mod service;
mod siblings;
mod texts;
mod vocabulary;

#[cfg(any(feature = "rmcp", feature = "tower-mcp", feature = "redb"))]
pub(crate) use self::catch_panic::catch_panic;
pub(crate) use self::envelope::read_unflagged;
#[cfg(feature = "rmcp-client")]
pub(crate) use self::result::name_result;
pub use self::{
    catch_panic::silence_panics, future::ResponseFuture, layer::ClassifyLayer, service::Classify,
    vocabulary::Vocabulary,
};
#[cfg(any(feature = "rmcp-client", feature = "tower-mcp"))]
pub(crate) use self::{rpc::name_rpc, texts::Session};
