//! Resilience middleware for MCP tool services: tower layers around any service of tool calls.
//!
//! Every call ends as exactly one of three things: a result, a result flagged `isError: true` that a
//! model can act on, or a protocol error for the host. It leaves one log line. No call is repeated
//! unless it did not run, or the server or the user said that a repeat is safe. No call goes out
//! earlier than the server asked.
//!
//! ```text
//! CallLog      writes one line with the outcome, also when the call is dropped
//! Idempotency  (server, optional) answers a known key from the store; else claims, runs, stores
//! IsError      turns a failure into a flagged result; the tool's own result passes unchanged
//! FatalStop    shuts down on the first fatal failure; then answers with its cause
//! Retry        if a repeat is safe and the wait fits: waits, makes the service ready, repeats
//! Classify     gives every error and flagged result a class; outside of it, there is only `Failure`
//! Reconnect    replaces a lost connection; calls on the old one end by themselves
//! Timeout      limits an attempt that reports no progress
//! tool service, or transport
//! ```
//!
//! # Where to start
//!
//! The [guide] has a page for each task. Each page begins with code that runs.
//!
//! [install](guide::install) · [wrap a server](guide::wrap_a_server) ·
//! [map my errors](guide::map_errors) · [what is repeated](guide::repeats) ·
//! [slow tools](guide::slow_tools) · [what the model reads](guide::what_the_model_reads) ·
//! [call servers](guide::call_servers) · [my own tower service](guide::tower_service) ·
//! [circuit breaker, limits](guide::limits) · [metrics and traces](guide::metrics_and_traces) ·
//! [logs](guide::logs) · [testing](guide::testing) · [upgrading](guide::upgrading)
//!
//! | Question | Answer |
//! |---|---|
//! | Which failures of my tool are repeated? | [the table](guide::repeats#which-failures-of-my-tool-are-repeated) |
//! | How do I give one tool 10 minutes? | [a policy for it](guide::slow_tools) |
//! | What does the model see when my database is down? | [its text](guide::what_the_model_reads#what-does-the-model-see-when-my-database-is-down) |
//! | How do I see that in Grafana? | [the queries](guide::metrics_and_traces#queries-for-grafana) |
//!
//! | You have | Use |
//! |---|---|
//! | a server on rmcp | [`rmcp::Resilient`]: one line |
//! | a server on tower-mcp | `tower_mcp::Resilient` (feature `tower-mcp`): one line |
//! | a tower service of tool calls | [`ResilienceLayer`], or its layers by [`ServiceBuilder`](tower::ServiceBuilder) |
//! | servers of others to call | `rmcp::client::Client` (feature `rmcp-client`) |
//! | a connector of your own | [`ResilienceLayer::connect`] |
//! | a tool that fails | [`Failure`] |
//! | a tool that calls an HTTP API, or gets errors of other crates | [`convert`] |
//! | a process that must end when it cannot work | [`startup`], [`fatal::Fatal`] |
//!
//! # Modules
//!
//! | Module | Holds |
//! |---|---|
//! | [`call`] | the traits of requests and results |
//! | [`failure`] | the error type of all layers, and its classes |
//! | [`classify`] | gives errors their class |
//! | [`convert`] | converts other errors and an HTTP API's answer to a failure |
//! | [`timeout`] | limits an attempt without an answer or progress |
//! | [`policy`] | settings for single tools |
//! | [`retry`], [`backoff`] | when a call is repeated, and after which wait |
//! | [`reconnect`] | replaces lost connections |
//! | [`is_error`] | the results and errors that models and hosts read |
//! | [`fatal`] | fatal failures, which end the process, and checks at startup |
//! | [`idempotency`] | runs a call with a key once, and gives each attempt the first answer |
//! | [`call_log`] | one log line for each call |
//! | [`observe`] | observers of the layers' decisions |
//! | `metrics` | metrics (features `metrics`, `otel`) |
//! | [`telemetry`] | spans of calls, attempts and dials, with OpenTelemetry's names |
//! | [`preset`] | all layers, in the recommended order |
//! | `rmcp` | the adapter for servers on rmcp (feature `rmcp`, on by default), and its clients (feature `rmcp-client`) |
//! | `tower_mcp` | the adapter for servers on tower-mcp, and for its clients (feature `tower-mcp`) |
//!
//! All layers are built in the same way. `XLayer::new` takes what has no default. Settings that can be
//! invalid have a builder (`XLayer::builder`), and its `build` returns an error; all others are setters
//! of the layer. A service is made by its layer, or by `X::new`; `X::layer` is its layer. `get_ref`,
//! `get_mut` and `into_inner` give access to the inner service.
//!
//! Every layer takes a service with any error that tower takes, and returns [`Failure`]. So the layers
//! compose in any order, and with any other layer. The page of [`preset`] has the recommended order,
//! and the reason for each place.
#![cfg_attr(
    not(feature = "rmcp"),
    allow(
        rustdoc::broken_intra_doc_links,
        reason = "the pages name the adapter, which this build leaves out"
    )
)]

#[macro_use]
mod accessors;
pub mod always_ready;
pub mod backoff;
pub mod call;
pub mod call_log;
pub mod classify;
pub mod convert;
pub mod failure;
pub mod fatal;
#[cfg(doc)]
pub mod guide;
pub mod idempotency;
pub mod is_error;
mod json;
mod ledger;
mod lock;
#[cfg(any(feature = "metrics", feature = "otel"))]
pub mod metrics;
pub mod observe;
pub mod policy;
pub mod preset;
pub mod reconnect;
pub mod retry;
#[cfg(any(feature = "rmcp", feature = "rmcp-client"))]
pub mod rmcp;
#[cfg(any(feature = "rmcp", feature = "tower-mcp"))]
mod serve;
pub mod telemetry;
mod text;
pub mod timeout;
#[cfg(feature = "tower-mcp")]
pub mod tower_mcp;
mod window;

pub use self::{
    failure::{Class, Delivery, Failure},
    fatal::startup,
    preset::ResilienceLayer,
};

#[cfg(all(doctest, feature = "rmcp", feature = "rmcp-client"))]
#[doc = include_str!("../README.md")]
struct Readme;
