//! All layers in the recommended order, in one line.
//!
//! ```text
//! CallLog      sees what the caller sees, and what nobody waits for
//! IsError      outside all that act on failures: they cannot see one that is a result
//! FatalStop    outside Retry: nothing fatal is tried again
//! Retry        outside Classify and Reconnect: it acts on named failures, every attempt gets a live connection
//! Classify     the border: outside all that gives errors of others
//! Reconnect    only around a connector; outside Timeout, whose errors it has to see
//! Timeout      tower's own: nothing below may hang for ever
//! the tools    a service of yours, or a connection
//! ```
//!
//! Right inside `Retry` stands [`AlwaysReady`]: waiting for the service below is a part of the call,
//! with its line and under its deadline. So the whole is always ready, also when it is shut: each
//! call is answered and logged. A limit or a load shed belongs inside.
//!
//! Any other order compiles; it gives up what its line says, and `Classify` around `IsError` reads
//! results again that were failures with a name.
//!
//! # Defaults
//!
//! Those of each layer, and:
//!
//! | Setting | Default | Set by |
//! |---|---|---|
//! | log | one line a call on stderr | [`log`](ResilienceBuilder::log) |
//! | longest attempt | 30 s, or half of a deadline that is no longer than that | [`attempt_timeout`](ResilienceBuilder::attempt_timeout) |
//!
//! **A tool that takes longer than that fails**, one that asks a person for input as well. It needs
//! a longer attempt, and a longer [`deadline`](crate::retry::RetryBuilder::deadline) than 55 s:
//!
//! ```
//! use mcp_resilience::{ResilienceLayer, retry::RetryLayer};
//! use std::time::Duration;
//!
//! let resilience = ResilienceLayer::builder()
//!     .attempt_timeout(Duration::from_secs(300))
//!     .retry(RetryLayer::builder().deadline(Duration::from_secs(600)).build()?)
//!     .build()?;
//! # let _ = resilience;
//! # Ok::<_, Box<dyn std::error::Error>>(())
//! ```
//!
//! # When to use it
//!
//! Whenever its order is yours. Compose the layers with
//! [`ServiceBuilder`](tower::ServiceBuilder) where something of your own stands between them: a
//! concurrency limit belongs right inside [`retry`](crate::retry), so that nothing is held while
//! it waits. Around a handler of rmcp, [`rmcp::Resilient`](crate::rmcp::Resilient) does it all.
//!
//! # Example
//!
//! ```
//! use mcp_resilience::{Failure, ResilienceLayer, call_log::CallLogLayer, retry::RetryLayer};
//! # use mcp_resilience::call::{Flagged, ToolCall, ToolResult};
//! # #[derive(Clone)]
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
//! use tower::{BoxError, Service, ServiceBuilder, ServiceExt};
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), BoxError> {
//! let resilience = ResilienceLayer::builder()
//!     .attempt_timeout(Duration::from_secs(5))
//!     .retry(RetryLayer::builder().max_attempts(2).build()?)
//!     .log(CallLogLayer::off())
//!     .build()?;
//!
//! let mut tools = ServiceBuilder::new()
//!     .layer(resilience)
//!     .service_fn(async |_: Call| {
//!         // Any error, by `?`: this one is a crash, and its text stays here.
//!         let text = std::fs::read_to_string("prices-of-tomorrow.csv")?;
//!         Ok::<_, BoxError>(Answer { is_error: false, text })
//!     });
//!
//! let answer = tools.ready().await?.call(Call("forecast")).await?;
//! assert!(answer.is_error);
//! assert!(answer.text.starts_with("Error executing tool forecast (call "));
//! # Ok(())
//! # }
//! ```

mod builder;
mod layer;

pub use self::{
    builder::ResilienceBuilder,
    layer::{Connected, Connection, Guarded, Resilience, ResilienceLayer},
};
