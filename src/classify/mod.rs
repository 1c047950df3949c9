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
//! 2. **A JSON-RPC error's `data`, its code**, and for a few SDKs its message. `data` may hold an
//!    envelope, as a result may.
//! 3. **A flagged result's envelope**: its structured content, else the one under this crate's key or
//!    `io.modelcontextprotocol/toolFailure` in `_meta`, else JSON in its text: `code`, `status`,
//!    `retryable`, `retryAfter`.
//! 4. **Texts of SDKs** that are known letter by letter, at the place where the SDK writes them.
//!
//! Nothing else in a text ever decides: no word, no digit, wherever it stands. `retryable: false`
//! beats everything, wherever it stands. A wait alone makes nothing repeatable.
//!
//! **A text is anybody's**, since a tool may echo there what a third party said. JSON in it gives class,
//! code and wait; that the call did not run, or may run again, only structured content, those two keys
//! of `_meta`, and the `data` of a JSON-RPC error say. Behind an adapter nothing of a handler's answer
//! says it but the words of its author, [`before_running`](crate::Failure::before_running) and
//! [`with_retryable`](crate::Failure::with_retryable): a handler may hand on what a service answered that
//! it called after half its work. See
//! [who may say it](crate::failure#whether-the-tool-ran).
//!
//! # From what a server answers to what the stack does
//!
//! A code is one in structured form. *Any tool*: the call is made again, after the wait that the server asked for, since it did not run
//! or the server said that a repeat is fine. *Safe tools*: only if the tool may run twice
//! (`readOnlyHint`, `idempotentHint`, your word). See [`retry`](crate::retry) for the limits of that,
//! and [the classes](crate::failure#the-classes) for who acts on each.
//!
//! | A server answers | Class | Made again |
//! |---|---|---|
//! | code `rate_limited`, `at_capacity`, `service_unavailable` | `RateLimited`, `AtCapacity`, `Unavailable` | any tool: the call was refused |
//! | code `upstream_error` with an `error` and a `status` of 500 or more | `Upstream` | any tool: it is documented so |
//! | code `upstream_error` otherwise | `Upstream` | safe tools |
//! | any of these codes in JSON in a text | the same | safe tools, if time heals the class |
//! | code `bad_request`, `upstream_client_error` | `InvalidInput` | no: the model corrects the arguments |
//! | code `ssrf_blocked`, `not_found` | `Blocked`, `NotFound` | no: the model asks for something else |
//! | code `forbidden` | `Forbidden` | no: another tool may do |
//! | code `auth_failed`, `service_disabled` | `Unauthorized`, `Disabled` | no: the operator acts |
//! | code `upstream_non_json`, `output_validation_failed` | `InvalidOutput` | no: the tool ran |
//! | code `upstream_unknown` | `Crash` | no: the log has it at ERROR |
//! | HTTP 401, 403 | `Unauthorized`, `Forbidden` | no |
//! | HTTP 429 with or without `Retry-After` | `RateLimited` | any tool |
//! | HTTP 413, and any other 4xx without a JSON-RPC error | `InvalidInput` | no |
//! | HTTP 408 with `Retry-After` | `Timeout` | any tool: the request did not arrive |
//! | HTTP 408 without: a server whose handler takes too long says it as well | `Timeout` | safe tools |
//! | HTTP 400, 405, 406 with a JSON-RPC error (`-32000`, `-32600`, `-32700`) | `Protocol` | no: the host gets it as it is |
//! | text `MCP error -32602: Input validation error…`, with or without the number in front | `InvalidInput` | no |
//! | text `MCP error -32602: Tool NAME not found` | `NotFound` | no |
//! | text `Error executing tool NAME: …` | `Tool` | no: the model reads it |
//! | text `Error executing tool NAME` and no more | `Crash` | no |
//! | JSON-RPC error of a tool, of a missing resource (`-32602`), of an argument | `InvalidInput`, else `Protocol` | no: code, message and data go to the host |
//! | any other text | `Tool` | no |
//! | | | |
//! | code `too_many_requests`, `rate_limit_error`, `rate_limit_exceeded`, `ThrottlingException` | `RateLimited` | safe tools: it may be of an API behind the tool |
//! | code `quota_exceeded`, `resource_exhausted`, `overloaded`, `unavailable` | `RateLimited`, `AtCapacity`, `Unavailable` | safe tools: it may have run |
//! | code `timeout`, `upstream_timeout`, `upstream_unavailable` and the like | `Timeout`, `Upstream` | safe tools |
//! | an unknown code with an HTTP `status` | as that status | safe tools, if time heals the class: it may be of an API behind the tool |
//! | an unknown code with `retryable: true` | `Tool` | any tool: the server said so |
//! | any code with `retryable: false`, `recovery: "terminal"`, `category: "permanent"` | of the code | no |
//! | a code, a status or `retryable: true` in a [part](#where-an-envelope-is-looked-for) of an answer | of the code | safe tools, if time heals the class |
//! | text `Unknown tool: NAME`, `Tool NAME disabled` | `NotFound`, `Disabled` | no |
//! | text `failed to deserialize parameters: …`, `validating "arguments": …`, `N validation errors for …` | `InvalidInput` | no |
//! | text `Output validation error…`, or a client's own: `Structured content does not match…`, `Invalid structured content returned by…`, `…did not return structured content` | `InvalidOutput` | no: the tool ran |
//! | text `Error calling tool 'NAME': …`, `An error occurred invoking 'NAME': …` | `Tool`; `Crash` without a message | no |
//! | JSON-RPC `-32602` | `InvalidInput`, or what such a text says | no |
//! | JSON-RPC `-32002` | `NotFound` | no |
//! | JSON-RPC `-32600`, `-32001` with `Session not found`, `Session terminated` | `SessionLost`; `Protocol` over stdio and from a handler | once, in a new session: any tool with an HTTP status 4xx, else safe tools |
//! | JSON-RPC `-32023` with a wait | `RateLimited` | any tool |
//! | JSON-RPC `-32029`, `-32105`, `-33001` with a wait | `RateLimited` | safe tools |
//! | JSON-RPC `-32000` with `Rate limit exceeded for client: …` | `RateLimited` | safe tools |
//! | text `MCP error -32601: …`, `-32600`, `-32700` | `Protocol` | no |
//! | JSON-RPC `-32800` | `Cancelled` | no |
//! | any other JSON-RPC error | `Protocol`; `Upstream` with `retryable: true` | no; any tool |
//! | HTTP 503 with `Retry-After`, or with a code in the body that is a refusal | `Unavailable`, or what a code in the body says | any tool |
//! | HTTP 503 and no more: a proxy says so too when it lost the request | `Unavailable` | safe tools |
//! | HTTP 404 with a session | `SessionLost` | once: any tool if it says that the session is gone, else safe tools |
//! | HTTP 500, 502, 504 | `Upstream` | safe tools |
//! | a result without a flag, with a documented code and a text in `error` or `message`, of a tool that declares no `outputSchema` | of the code | no; [`is_error`](crate::is_error) flags it, and the log says so |
//! | any other result without a flag; `input_required`; a task; an unknown `resultType` | none | no: it passes untouched |
//!
//! A JSON-RPC error stays one: whatever its class, the host gets code, message and data as the
//! server sent them. An HTTP status beats a number in the body, and a code there beats the status.
//!
//! # Where an envelope is looked for
//!
//! It speaks of **the call itself** at the top of an object, in `error`, at the top of the `data` of a
//! JSON-RPC error, and in an object that is the only thing in one of these, as `data`, `details` or
//! under a protocol's name for an error (`adcp_error`). Only there it can say that the call did not run,
//! or that it may run again, and only if nothing in the answer tells of something else than the failure:
//! `{"sent": 2, "error": {"code": "rate_limited"}}` tells of two mails that were sent. What tells of a
//! failure: code, message, status, wait, limits, ids of requests, hints for people and the like, and
//! whatever is empty. A code that you named by [`Words::refusal_code`] or [`Words::repeatable_code`]
//! holds beside other things as well.
//!
//! What is the only thing under another name of an error (`mail_error`), `data` and `details` that
//! stand beside other things, and the first of `errors`, may tell of **a part** of what was done:
//! `{"sent": 2, "details": {"code": "rate_limited"}}`. They give code, class and wait, but whether the tool ran stays unknown. A wait is heard from anywhere down to one level, and
//! that a repeat is *not* fine down to two. Objects under other names, and items of lists, speak of something
//! else.
//!
//! # `retryAfter`
//!
//! A bare number is in the unit that the name says, by itself **seconds**. Texts may be numbers, lengths
//! of time, dates, or lists of these, in the forms that servers send. Of several hints the longest
//! counts. Zero is no floor. A value that is too big is the longest wait that there is. Negative or
//! senseless values are no hint at all. See [`retry_after`].
//!
//! # When to use it
//!
//! Right around the service, or around [`reconnect`](crate::reconnect); inside everything else of
//! this crate.
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
//! Where only the names are new, add them as [`Words`]. Here a server answers
//! `{"fault": {"reason": "E_BUSY", "cooldown": 20}}`:
//!
//! ```
//! use mcp_resilience::{
//!     Class,
//!     classify::{ClassifyLayer, Words},
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
//! let words = Words::new()
//!     .envelope_in("fault")
//!     .code_field("reason")
//!     .code("E_BUSY", Class::AtCapacity)
//!     .wait_seconds("cooldown");
//! let tools = ServiceBuilder::new()
//!     .layer(ClassifyLayer::new().words(words))
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
//!
//! Where the shape is new too, a [rule for results](ClassifyLayer::result_rule) sees the whole of it;
//! it also knows a failure that has no flag. A server that others meet as well belongs into
//! `src/classify/vocabulary.rs`, with a file under `tests/corpus` that shows what it answers.

mod catch_panic;
mod envelope;
mod error;
mod future;
mod hush;
mod layer;
mod lookup;
mod named;
mod places;
mod result;
pub mod retry_after;
mod rpc;
mod rules;
mod service;
mod session;
mod siblings;
mod texts;
mod unflagged;
mod vocabulary;
mod words;

pub(crate) use self::{catch_panic::catch_panic, unflagged::read_unflagged};
pub use self::{
    future::ResponseFuture, hush::hush_panics, layer::ClassifyLayer, service::Classify,
    words::Words,
};
#[cfg(any(feature = "rmcp-client", feature = "tower-mcp"))]
pub(crate) use self::{rpc::name_rpc, session::Session};
