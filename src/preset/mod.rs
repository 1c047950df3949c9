//! All layers in the recommended order, in one line.
//!
//! ```text
//! CallLog      sees what the caller sees, and dropped calls
//! Idempotency  only if it is turned on: keeps the answer to a call with a key
//! IsError      outside all layers that act on failures: they do not see a failure that is a result
//! FatalStop    outside Retry: no fatal failure is repeated
//! Retry        outside Classify and Reconnect: it acts on classified failures, and each attempt gets a live connection
//! Classify     outside all services with errors of other types: it classifies them
//! Reconnect    only around a connector; outside Timeout, whose errors it has to see
//! Timeout      limits each attempt: nothing below may hang for ever
//! the tools    your service, or a connection
//! ```
//!
//! [`AlwaysReady`](crate::always_ready::AlwaysReady) is right inside `Retry`. Waiting for the service
//! below is a part of the call, with its log line and under its deadline. So the stack is always
//! ready, also after it has shut, and each call is answered and logged. Put a limit or a load shed
//! inside.
//!
//! Any other order compiles, but a layer then no longer does what its row says. `Classify` around `IsError` would
//! classify results that were failures with a class before.
//!
//! # Defaults
//!
//! Those of each layer, and:
//!
//! | Setting | Default | Set by |
//! |---|---|---|
//! | log | one line a call on stderr | [`log`](ResilienceBuilder::log) |
//! | attempt timeout around a tool, without an answer or [progress](crate::timeout) | 10 minutes | [`attempt_timeout`](ResilienceBuilder::attempt_timeout) |
//! | the same around a connection ([`connect`](ResilienceLayer::connect)) | 60 s, as the SDKs have it | the same |
//! | ceiling of an attempt with progress | 1 h | [`ceiling`](crate::policy::Policy::ceiling) |
//! | [retry window](crate::retry): waits and further attempts begin within | 55 s, since callers hang up at 60 s | [`retry_window`](crate::retry::RetryBuilder::retry_window) |
//! | [deadline](crate::retry) of the whole call | none | [`deadline`](crate::retry::RetryBuilder::deadline) |
//! | longest wait for the service to be ready | the retry window | [`ready_timeout`](ResilienceBuilder::ready_timeout) |
//! | [policies](crate::policy) for single tools | none | [`policies`](ResilienceBuilder::policies) |
//! | one call's [`retryAfter` holds for all](crate::retry::RetryAfterGate) | no | [`retry_after_gate`](ResilienceBuilder::retry_after_gate) |
//! | [observer](crate::observe) of the decisions | `TracingEvents` | [`observer`](ResilienceBuilder::observer) |
//!
//! So a slow tool works, and a hang still ends. A running attempt is bounded only by its own limit. A
//! call that ran into that limit is not repeated if the retry window leaves less time than the limit:
//! with the defaults, never.
//!
//! An attempt timeout that is not set adapts to a shorter deadline.
//! [`build`](ResilienceBuilder::build) refuses settings that contradict each other.
//!
//! ```
//! use mcp_resilience::{
//!     ResilienceLayer,
//!     policy::{Policies, Policy},
//! };
//! use std::time::Duration;
//!
//! let resilience = ResilienceLayer::builder()
//!     .attempt_timeout(Duration::from_secs(30))
//!     .policies(
//!         // It asks a person.
//!         Policies::new().tool("approve", Policy::new().attempt_timeout(Duration::from_secs(3600))),
//!     )
//!     .build()?;
//! # let _ = resilience;
//! # Ok::<_, Box<dyn std::error::Error>>(())
//! ```
//!
//! # When to use it
//!
//! Use it whenever this is the order that you want. For another order, compose the layers with
//! [`ServiceBuilder`](tower::ServiceBuilder). Around a handler of rmcp,
//! [`rmcp::Resilient`](crate::rmcp::Resilient) does it all.
//!
//! Other layers, such as a concurrency limit, a circuit breaker or a rate limit, belong right inside
//! `Classify`: there nothing is held while `Retry` waits, and their errors get a class.
//! [`layer_inside`](ResilienceBuilder::layer_inside) puts them there;
//! [the guide](crate::guide::limits) shows each of them.
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
mod future;
mod layer;
mod service;

pub use self::{
    builder::ResilienceBuilder,
    future::ResponseFuture,
    layer::{Connected, Connection, ResilienceLayer},
    service::Resilience,
};
