//! The adapter for [rmcp](https://docs.rs/rmcp), the official Rust SDK.
//!
//! [`Resilient`] wraps any [`ServerHandler`](::rmcp::ServerHandler) and is one: over stdio, over
//! `StreamableHttpService`, over whatever rmcp serves. Tool calls, resource reads and prompts go
//! through one stack; every other method goes to the handler as it is.
//!
//! For who calls servers instead, [`client`] has connections that come back (feature `rmcp-client`).
//!
//! ```no_run
//! use mcp_resilience::{fatal::Fatal, rmcp::Resilient};
//! use rmcp::{ServerHandler, transport::stdio};
//!
//! struct Bookshop;
//! impl ServerHandler for Bookshop {}
//!
//! #[tokio::main]
//! async fn main() -> Result<(), Fatal> {
//!     Resilient::new(Bookshop).run(stdio()).await
//! }
//! ```
//!
//! # How a handler fails
//!
//! | The handler | The client gets |
//! |---|---|
//! | returns `Err(Failure)`, from a `#[tool]` function or by `?` into [`ErrorData`] | as the [class](crate::failure) says: flagged, or a JSON-RPC error |
//! | returns `Err(ErrorData)` | that JSON-RPC error, as it is |
//! | returns a result flagged by itself | that result, as it is |
//! | returns any other error, through [`AnyError`] | a crash: flagged, its text stays in the log |
//! | panics | the same (without this wrapper: no answer, ever) |
//! | answers `InputRequired` or `Task` | that answer, as it is |
//!
//! Whether the call ran is unknown, whatever error or flagged result the handler returns: it may be that
//! of a client that the handler used after half its work. Its `data`, or its envelope, give class, code
//! and wait, and never say that the call may be made again. So a tool that may not run twice is not
//! called again. If nothing was done yet, say so by
//! [`before_running`](crate::Failure::before_running): `Failure::at_capacity(None).before_running()`; if a
//! repeat is fine, by [`with_retryable`](crate::Failure::with_retryable).
//!
//! ```
//! use mcp_resilience::{Failure, rmcp::AnyError};
//!
//! // A `#[tool]` function may return either.
//! fn get_author(title: &str) -> Result<String, Failure> {
//!     Err(Failure::tool(format!("No book titled {title:?} in the catalog.")))
//! }
//! fn read_prices(path: &str) -> Result<String, AnyError> {
//!     Ok(std::fs::read_to_string(path)?)
//! }
//! # let _ = (get_author, read_prices);
//! ```
//!
//! # Hints
//!
//! Annotations and `outputSchema` come from [`ServerHandler::get_tool`](::rmcp::ServerHandler::get_tool),
//! which `#[tool_handler]` implements. For a tool that `get_tool` does not know, they come from the
//! handler's `tools/list`, as it passes by to any client. If a tool is called before any list
//! has passed by, the wrapper calls the handler's `list_tools` once, in the context of that call and
//! for at most 1 s. If that fails, the hints stay unknown until a list passes by. The lists of all
//! clients count together: where they differ, or change over time, a hint counts only if every list so
//! far gave it.
//!
//! Reading a resource or a prompt may happen twice. A call that
//! carries `inputResponses` or `requestState` may not run twice, whatever its tool: the state may
//! be used up.
//!
//! # Requests that cannot be read
//!
//! rmcp takes a known method with unreadable parameters for a custom request, and its default answer
//! is "method not found". The wrapper answers `-32602` and says which field is wrong. For
//! `tools/call`, `resources/read` and `prompts/get` this goes through the stack, past the handler:
//! the call leaves one line, of class `invalid_input` and delivery `not_sent`, with the name if it is
//! known. Arguments that are a string are refused too, also if the string holds a JSON object.
//!
//! rmcp drops a line that is no JSON, and answers other lines that it cannot read without their id, so
//! that the client waits. Over [`Resilient::run`] each request that carries an id gets an answer under
//! it. [`LineTransport`] reads stdin, a `DuplexStream`, and any other streams that you give it:
//!
//! | The client writes | The server |
//! |---|---|
//! | no `jsonrpc` or another version, null members, a byte order mark, JSON as a text in JSON | runs the request |
//! | a batch, or several messages on a line | answers each on a line of its own |
//! | an id as a float, or of more than 64 bits | runs the request, and writes the id back as it came |
//! | `params` or `_meta` that is no object; a number beyond `f64`, half of a surrogate pair, more than about 120 levels | answers `-32602` |
//! | broken JSON, no UTF-8, more than 16 MiB | answers `-32600`, if a scan finds the id |
//! | an id that is null, a boolean, an array or an object; no `method` or one that is no string; a member twice | answers `-32600` |
//! | JSON without an id that is no message | answers one `-32600` with the id null |
//! | any other text without an id, or a call without one | answers nothing |
//! | an `initialize` that cannot be read | answers `-32602`, and waits for another |
//!
//! A call that is refused leaves its line. A text without an id that is no message is an event of
//! `tracing` (level WARN, at most ten a second) with its length and beginning.
//!
//! Over HTTP rmcp reads the body, and refuses with status 415 and the parser's words what it cannot
//! read, from a missing `jsonrpc` on. The status ends the client's request. Such a request leaves no line
//! in the log.
//!
//! # Limits
//!
//! Those of the [preset](crate::preset), which a handler did not have before:
//!
//! | | Default | Set by |
//! |---|---|---|
//! | one attempt | 10 minutes without progress, and 1 h with it | [`attempt_timeout`](crate::preset::ResilienceBuilder::attempt_timeout), [`ceiling`](crate::preset::ResilienceBuilder::ceiling) |
//! | waits and further attempts begin | within 55 s | [`retry_window`](crate::retry::RetryBuilder::retry_window) |
//! | a whole call | no limit | [`deadline`](crate::retry::RetryBuilder::deadline) |
//! | attempts, of what may be repeated | 3 | [`max_attempts`](crate::retry::RetryBuilder::max_attempts) |
//!
//! | running calls at the end of the server | 10 s, then they are cut off and answered | [`Resilient::grace`] |
//!
//! # Progress
//!
//! A tool that reports progress is alive: the limit of its attempt, and the deadline of its call, count
//! from the last report, up to the ceiling. The tool reports as it does without this crate, by
//! `context.peer.notify_progress(..)`.
//!
//! | The call | Its client |
//! |---|---|
//! | reports progress | gets each report, under the token that it gave |
//! | is repeated, and its tool reports from 0 again | never sees a value decrease: a lower one is raised to the highest so far |
//! | waits for an attempt, or runs and has not reported in this attempt | gets progress from the server itself every 15 s, with a message that names the wait and its reason, such as `waiting 40 s before attempt 2: attempt 1 failed (rate_limited) and asked for 31 s`; see [`Resilient::heartbeat`] |
//! | gave no progress token | gets nothing |
//!
//! Heartbeats begin at 0 and rise by 0.000001, so that the tool's own reports stay above them. They do
//! not count as progress of the tool: a silent tool still runs into its limit.
//!
//! A tool whose client gave no token can report by hand. The handle is in the extensions of the
//! context; in a `#[tool]` function it is an argument of the type `Extension<Ticker>`:
//!
//! ```
//! use mcp_resilience::call::Ticker;
//! use rmcp::handler::server::tool::Extension;
//!
//! async fn export(Extension(ticker): Extension<Ticker>) -> String {
//!     for _page in 0..3 {
//!         // … a page …
//!         ticker.tick();
//!     }
//!     "done".to_owned()
//! }
//! # let _ = export;
//! ```
//!
//! Reports are seen over [`Resilient::run`], rmcp's own `serve` and `StreamableHttpService`, in sessions that
//! begin with `initialize` and in those that do not. A late report from a task that an abandoned attempt has
//! spawned counts for the attempt that runs.
//!
//! An [observer](crate::preset::ResilienceBuilder::observer) of the preset is told of each heartbeat.
//!
//! # The end
//!
//! [`Resilient::run`] ends when its client leaves, on SIGTERM, SIGINT or SIGHUP, and after the first
//! fatal failure; its page has a table of what becomes of the calls. A signal is a normal end.
//!
//! | `main` returns what `run` returned | Exit code |
//! |---|---|
//! | the client left, or a signal came | 0 |
//! | a fatal failure; rmcp's own service loop failed | 1, and the reason on stderr |
//!
//! [`Resilient::run_with_stop`] and [`Resilient::run_until`] take another [`Stop`] than the signals.
//! Signals have handlers from the start of `run`; a signal before it ends the process by default.
//! tokio leaves the handlers installed: after `run` has returned, these signals have no effect.
//!
//! # Over HTTP
//!
//! `StreamableHttpService` asks its factory for a handler per session, or per request. Make the
//! wrapper once and clone it there: its clones share the handler, the budget, the log and the end.
//! [`Resilient::run_until`] ends such a server, on a signal or after a fatal failure, and has an
//! example; without it nothing ends, whatever fails.
//!
//! rmcp ends a session in which nothing is sent for 5 minutes, and the answer of a call that runs is lost with it.
//! Heartbeats keep it alive, for a client that gave a progress token, until the tool reports by itself. For a tool
//! that is silent for longer, raise `SessionConfig::keep_alive` above the attempt timeout.
//!
//! # Cancellation
//!
//! When the client cancels a request, the call is dropped, in an attempt as in a wait, and its line
//! says `cancelled`. A handler sees that, and the end of an attempt that took too long, as a future
//! that is dropped; the request's token is cancelled for what it may have spawned. The handler's
//! future itself runs in rmcp's own task.
//!
//! A client that only leaves is another matter. Over stdio what runs gets ten seconds, and
//! drops it then; a session of HTTP outlives its requests, so that a client may fetch the answer
//! later, and what runs goes on to its end.
//!
//! # Panics
//!
//! Those of the handler are crashes of their call. So are, as JSON-RPC errors, those of closures and
//! layers of yours; whatever panics, the client gets an answer. Have them in the log alone by
//! [`hush_panics`](crate::classify::hush_panics).
//!
//! # Not supported
//!
//! rmcp's feature `local`, under which a handler's futures may not be `Send`. And do not import this
//! module by its name, or with `*`: rmcp's own macros mean the crate of that name.
//!
//! [`ErrorData`]: ::rmcp::ErrorData
#![cfg_attr(
    not(feature = "rmcp-client"),
    allow(
        rustdoc::broken_intra_doc_links,
        reason = "the page names the client side, which this build leaves out"
    )
)]

mod answer;
mod capability;
#[cfg(feature = "rmcp-client")]
pub mod client;
mod model;
mod request;
#[cfg(feature = "rmcp")]
mod server;
mod wire;

#[cfg(feature = "rmcp")]
pub use self::server::{
    AnyError, Attempt, HandlerService, LineTransport, PresetStack, Resilient, ServerAnswer,
    ServerCall, Shutdown, StdinReader, StdoutWriter, Stop, stdio,
};
pub use self::{answer::Answer, request::Request};
