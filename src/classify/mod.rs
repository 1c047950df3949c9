//! The border: below it anyone's errors and anyone's flagged results, above it only
//! [`Failure`](crate::Failure)s.
//!
//! A failed call may be an `Err` of any type, or an `Ok` whose result says `isError: true`. This
//! layer makes every one of them an `Err(Failure)` of a known [`Class`](crate::Class), so that a
//! retry, a circuit breaker or any other tower middleware above it sees a failed tool as failed.
//! It also catches panics ([`hush_panics`] keeps them off stderr). What the tool answered is kept inside the failure and goes out
//! untouched through [`is_error`](crate::is_error).
//!
//! # What it reads, in this order
//!
//! 1. **The error's type**: your own [rules](ClassifyLayer::rule), a `Failure`, a JSON-RPC error,
//!    tower's and tokio's errors, [`std::io::Error`]; anywhere in the chain of sources.
//! 2. **A JSON-RPC error's code and `data`.** `data` may hold an envelope, as a result may.
//! 3. **A flagged result's envelope**: its structured content, else JSON in its text: `code`,
//!    `status`, `retryable`, `retryAfter`; at the top, in `error`, `details`, `data`, or one
//!    level of namespace.
//! 4. **Texts of SDKs** that are known word by word, at the place where the SDK writes them.
//!
//! Nothing else in a text ever decides: no word, no digit, wherever it stands. `retryable: false`
//! beats everything. A wait alone makes nothing repeatable.
//!
//! | A server answers | Class | Repeated |
//! |---|---|---|
//! | envelope `rate_limited`, `at_capacity`, `service_unavailable` | of that name | after the wait: the call was refused |
//! | envelope `upstream_error` | `Upstream` | yes: the code is documented so |
//! | envelope `bad_request`, `upstream_client_error` | `InvalidInput` | no |
//! | envelope `auth_failed`, `forbidden`, `not_found`, `ssrf_blocked`, `service_disabled` | `Unauthorized`, `Forbidden`, `NotFound`, `Blocked`, `Disabled` | no |
//! | envelope `upstream_non_json`, `output_validation_failed` | `InvalidOutput` | no |
//! | envelope `upstream_unknown` | `Crash` | no |
//! | envelope of an unknown code with an HTTP `status` | as that status | as that class |
//! | text `Error executing tool NAME: …` | `Tool` | no |
//! | text `Error executing tool NAME` and no more | `Crash` | no |
//! | text `MCP error -32602: Input validation error…`, with or without the number in front | `InvalidInput` | no |
//! | text `MCP error -32602: Tool NAME not found`, `Unknown tool: NAME` | `NotFound` | no |
//! | text `failed to deserialize parameters: …`, `N validation errors for …` | `InvalidInput` | no |
//! | text `Output validation error…` | `InvalidOutput` | no |
//! | any other flagged result | `Tool` | no |
//! | JSON-RPC `-32602` | `InvalidInput`; `NotFound` for the texts of an unknown tool | no |
//! | JSON-RPC `-32002` | `NotFound` | no |
//! | JSON-RPC `-32600`, `-32001` with `Session not found`, `Session terminated` | `SessionLost` | once the session is new |
//! | JSON-RPC `-32023`, `-32029` with a wait | `RateLimited` | after the wait |
//! | JSON-RPC `-32800` | `Cancelled` | no |
//! | any other JSON-RPC error | `Protocol` | no |
//!
//! A JSON-RPC error stays one: whatever its class, the host gets code, message and data as the
//! server sent them.
//!
//! # `retryAfter`
//!
//! Names are compared without case, `_` and `-`. A bare number is **seconds**; a name that ends in
//! `ms` is milliseconds. Strings may be numbers, `"58s"`, `"1m30s"`, `"500ms"`, the three date
//! forms of HTTP, or RFC 3339. Of several hints the longest counts. Zero is no floor. Negative,
//! infinite, overflowing or senseless values are no hint at all. See [`retry_after`].
//!
//! # When to use it
//!
//! Right around the service, or around [`reconnect`](crate::reconnect); inside everything else of
//! this crate.
//!
//! # Example
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
//!     .layer(ClassifyLayer::new().rule(|_: &PoolExhausted| Some(Failure::at_capacity(None))))
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

mod catch_panic;
mod envelope;
mod error;
mod future;
mod hush;
mod layer;
mod lookup;
mod places;
mod result;
pub mod retry_after;
mod rpc;
mod rules;
mod service;
mod status;
mod texts;
mod vocabulary;
mod words;

pub(crate) use self::catch_panic::catch_panic;
pub use self::{
    future::ResponseFuture, hush::hush_panics, layer::ClassifyLayer, service::Classify,
    words::Words,
};
