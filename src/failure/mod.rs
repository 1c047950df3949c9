//! The error type of all layers.
//!
//! A [`Failure`] has a [`Class`] (who must act, and whether waiting helps) and a [`Delivery`]
//! (whether the call may have run). It keeps the details from the server or the tool: code, message,
//! wait, flagged result, JSON-RPC error.
//!
//! # For the author of a tool
//!
//! Ask one question: could the model have avoided the failure with a better call? If so, the
//! message is for the model. If not, it is for the host.
//!
//! ```
//! use mcp_resilience::Failure;
//! use std::time::Duration;
//!
//! # let _ = [
//! // The model reads it and tries again with a better title.
//! Failure::tool("No book titled 'Nothing' in the catalog."),
//! Failure::invalid_input("title", "expected a string, got a number"),
//! // The host handles it: code, message and data arrive as they are.
//! Failure::protocol(-32602, "the client cannot sample", None),
//! // Nothing ran yet: the stack waits and calls the tool again, and never earlier.
//! Failure::rate_limited(Some(Duration::from_secs(30))).before_running(),
//! // The process ends.
//! Failure::fatal("the catalog is gone"),
//! # ];
//! ```
//!
//! Any other error that a tool returns is a crash. The model reads only that the call failed; the log
//! has the whole chain of sources. [The guide](crate::guide::map_errors) shows how to map your
//! errors.
//!
//! # Whether the tool ran
//!
//! A call that did not run is repeated for every tool. So only these sources may say it:
//!
//! | Source | Says |
//! |---|---|
//! | the connection | [`NotSent`](Delivery::NotSent): there was none, or it was closed before the request was written |
//! | a layer of tower directly below `classify` that refuses a call, such as a load shed | [`Refused`](Delivery::Refused) |
//! | the server, about this request and [in a structured form](#refusals-by-a-server) | `Refused` |
//! | the store of [`idempotency`](crate::idempotency) keys, about this key: this attempt began no run of it | `NotSent` |
//! | the author of a tool, by [`before_running`](Failure::before_running) or [`with_delivery`](Failure::with_delivery); your own rules and words | what they say |
//!
//! Everything else is [`Unknown`](Delivery::Unknown), or [`Executed`](Delivery::Executed) if the
//! class says that the tool ran. This includes a constructor without `before_running`, a text, JSON
//! in a text, an error that wraps another, and any other error that a handler returns.
//!
//! A claim holds in one stack. If a handler passes on the failure of a nested stack, class and
//! message are kept, and the claim is dropped. The same is true of `retryable: true`, which permits a
//! repeat of a call that may have run.
//!
//! **If a plain tower service is itself a tool**, its errors cannot be told from those of a layer: a
//! load shed of its own client looks like one around the tool. Wrap the errors of your own clients in
//! a type of your own, or make a `Failure` of them. A handler of rmcp needs no such care.
//!
//! ## Refusals by a server
//!
//! - HTTP 401, 403 or 429; HTTP 408 or 503 with `Retry-After`;
//! - a JSON-RPC error with the number -32023;
//! - a JSON-RPC error or structured content with the code `rate_limited`, `at_capacity` or
//!   `service_unavailable`, if it [tells of nothing
//!   else](crate::classify::reference#where-an-envelope-is-looked-for) than the failure;
//! - an HTTP status 4xx that says "unknown session", on a connection that has a session.
//!
//! # The classes
//!
//! One row each. *Repeated* is what [`retry`](crate::retry) does. *By delivery* means: if the call
//! did not run, or the tool may run twice. An explicit `retryable: false` stops every repeat. An
//! explicit `retryable: true` permits one, for a `Tool` failure and for each class that is not `no`
//! in this column.
//!
//! | Class | Codes | Who acts | Repeated | New connection | Against the server | Log level |
//! |---|---|---|---|---|---|---|
//! | [`Connection`](Class::Connection) | | the stack | by delivery | yes | yes | WARN |
//! | [`Timeout`](Class::Timeout) | | the stack | by delivery | yes | yes | WARN |
//! | [`SessionLost`](Class::SessionLost) | | the stack | by delivery | yes | no | WARN |
//! | [`RateLimited`](Class::RateLimited) | `rate_limited` | time | by delivery | no | no | WARN |
//! | [`AtCapacity`](Class::AtCapacity) | `at_capacity` | time | by delivery | no | yes | WARN |
//! | [`Unavailable`](Class::Unavailable) | `service_unavailable` | time | by delivery | no | yes | WARN |
//! | [`Upstream`](Class::Upstream) | `upstream_error` | time | if the server or the hints permit it | no | yes | WARN |
//! | [`InvalidInput`](Class::InvalidInput) | `bad_request`, `upstream_client_error` | the model | no | no | no | INFO |
//! | [`Blocked`](Class::Blocked) | `ssrf_blocked` | the model | no | no | no | INFO |
//! | [`NotFound`](Class::NotFound) | `not_found` | the model | no | no | no | INFO |
//! | [`Unauthorized`](Class::Unauthorized) | `auth_failed` | the operator | no | no | no | WARN |
//! | [`Forbidden`](Class::Forbidden) | `forbidden` | the model | no | no | no | INFO |
//! | [`Disabled`](Class::Disabled) | `service_disabled` | the operator | no | no | no | WARN |
//! | [`Tool`](Class::Tool) | | the model | no | no | no | INFO |
//! | [`InvalidOutput`](Class::InvalidOutput) | `output_validation_failed`, `upstream_non_json` | the operator | no | no | yes | WARN |
//! | [`Protocol`](Class::Protocol) | | the host | no | no | no | INFO |
//! | [`Crash`](Class::Crash) | `upstream_unknown`; reported as `internal_error` | the operator | no | no | yes | ERROR |
//! | [`Cancelled`](Class::Cancelled) | | nobody | no | no | no | INFO |
//! | [`Fatal`](Class::Fatal) | | the process | no | no | yes | ERROR |
//!
//! *Against the server* is what a circuit breaker counts
//! ([`speaks_against_server`](Failure::speaks_against_server)).
//!
//! The codes are those of a documented server. [`Class::from_code`] reads them, their other spellings
//! (`RATE_LIMITED`, `rate-limited`), and the codes of other public servers with the same meaning.
//!
//! # Errors of others
//!
//! [`Failure::from`] takes any boxed error. It unwraps a boxed `Failure`. It knows tower's and
//! tokio's errors and [`std::io::Error`], anywhere in the chain of sources. Everything else is a
//! crash. [`convert`](crate::convert) is for all other errors, and for an HTTP API's answer.
//! [`classify`](crate::classify) is the layer that reads more.

mod build;
mod chain;
mod class;
mod code;
mod delivery;
mod error;
mod evidence;
mod fatal;
mod from_error;
#[cfg(feature = "reqwest")]
mod http_client;
mod into_failure;
mod limit;
pub(crate) mod meanwhile;
mod returned;
mod rpc_error;
mod signals;
mod status;
mod stderr;
mod stopped;

#[cfg(feature = "http")]
pub(crate) use self::status::of_status;
pub(crate) use self::{
    chain::Chain,
    class::{Repeats, is_same_word},
    evidence::{Border, Witness},
    returned::Returned,
    status::class_of_status,
    stderr::stderr,
};
pub use self::{
    class::{Audience, Class},
    code::Code,
    delivery::Delivery,
    error::Failure,
    fatal::Fatal,
    into_failure::IntoFailure,
    limit::{Limit, LimitReached},
    rpc_error::RpcError,
    stopped::Stopped,
};
pub(crate) use crate::text::{MESSAGE_LIMIT, NAME_LIMIT, SCAN_LIMIT, escaped, first};

/// The key in `_meta` of a flagged result that holds the envelope of a failure, if the envelope may
/// not be in the structured content.
pub const META_KEY: &str = "io.crates.mcp-resilience/failure";

/// tower's boxed error.
pub use tower::BoxError;
