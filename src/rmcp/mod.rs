//! The adapter for [rmcp](https://docs.rs/rmcp), the official Rust SDK.
//!
//! [`Resilient`] wraps any [`ServerHandler`](::rmcp::ServerHandler) and is one itself: over stdio,
//! over `StreamableHttpService`, and over every other transport of rmcp. Tool calls, resource reads
//! and prompts go through one stack. Every other method goes straight to the handler.
//!
//! For clients, [`client`] has connections that come back (feature `rmcp-client`).
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
//! | returns `Err(Failure)`, from a `#[tool]` function or by `?` into [`ErrorData`] | a flagged result or a JSON-RPC error, by its [class](crate::failure) |
//! | returns `Err(ErrorData)` | that JSON-RPC error, as it is |
//! | returns a flagged result | that result, as it is |
//! | returns any other error, through [`AnyError`] | a crash: flagged, and its text stays in the log |
//! | panics | the same (without this wrapper: no answer, ever) |
//! | answers `InputRequired` or `Task` | that answer, as it is |
//!
//! For every error or flagged result of a handler, it is unknown whether the call ran: it may come
//! from a client that the handler used in the middle of its work. Its `data` or its envelope give
//! class, code and wait, and never permit a repeat. So a tool that may not run twice is not
//! repeated.
//!
//! If nothing was done yet, call [`before_running`](crate::Failure::before_running):
//! `Failure::at_capacity(None).before_running()`. If a repeat is safe, call
//! [`with_retryable`](crate::Failure::with_retryable).
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
//! Annotations and `outputSchema` come from
//! [`ServerHandler::get_tool`](::rmcp::ServerHandler::get_tool), which `#[tool_handler]` implements.
//! For a tool that `get_tool` does not know, they come from the answers to `tools/list` of any
//! client. If a tool is called before any such answer, the wrapper calls `list_tools` once, in the
//! context of that call and for at most 1 s. If that fails, the hints stay unknown until there is an
//! answer.
//!
//! The lists of all clients count together. If they differ, or change over time, a hint counts only
//! if every list so far had it.
//!
//! Reading a resource or a prompt may happen twice. A call with `inputResponses` or `requestState`
//! may not run twice, whatever its tool, since the state may be used up.
//!
//! # Requests that cannot be read
//!
//! rmcp treats a known method with invalid parameters as a custom request, and answers "method not
//! found". The wrapper answers `-32602` and names the invalid field. `tools/call`, `resources/read`
//! and `prompts/get` go through the stack and not to the handler. Such a call leaves one line with
//! the class `invalid_input`, the delivery `not_sent`, and the name if it is known. Arguments that
//! are a string are refused too, even if the string holds a JSON object.
//!
//! rmcp drops a line that is not JSON, and answers other invalid lines without their id, so the
//! client waits. With [`Resilient::run`], each request with an id gets an answer with that id.
//! [`LineTransport`] reads stdin, a `DuplexStream`, and any other streams that you give it:
//!
//! | The client writes | The server |
//! |---|---|
//! | no `jsonrpc` or another version, null members, a byte order mark, JSON as a text in JSON | runs the request |
//! | a batch, or several messages on a line | answers each on a line of its own |
//! | an id as a float, or of more than 64 bits | runs the request, and writes the id back as it came |
//! | `params` or `_meta` that is not an object; a number beyond `f64`, half of a surrogate pair, more than about 120 levels | answers `-32602` |
//! | invalid JSON or UTF-8, more than 16 MiB | answers `-32600`, if a scan finds the id |
//! | an id that is null, a boolean, an array or an object; no `method`, or one that is not a string; a member twice | answers `-32600` |
//! | JSON without an id that is not a message | answers one `-32600` with the id null |
//! | any other text without an id, or a call without one | answers nothing |
//! | an `initialize` that cannot be read | answers `-32602`, and waits for another |
//!
//! A refused call leaves its line, also one before the handshake, which rmcp refuses by itself. A text without an id that is not a message is an event of
//! `tracing` (level WARN, at most ten a second) with its length and beginning.
//!
//! Over HTTP, rmcp reads the body, and refuses an invalid one with status 415 and the parser's
//! message. The status ends the client's request. Such a request leaves no line in the log.
//!
//! # Limits
//!
//! Those of the [preset](crate::preset), which a handler did not have before:
//!
//! | | Default | Set by |
//! |---|---|---|
//! | one attempt | 10 minutes without progress, and 1 h with it | [`attempt_timeout`](crate::preset::ResilienceBuilder::attempt_timeout), [`ceiling`](crate::policy::Policy::ceiling) |
//! | waits and further attempts begin | within 55 s | [`retry_window`](crate::retry::RetryBuilder::retry_window) |
//! | a whole call | no limit | [`deadline`](crate::retry::RetryBuilder::deadline) |
//! | attempts, if a repeat is allowed | 3 | [`max_attempts`](crate::retry::RetryBuilder::max_attempts) |
//! | running calls at the end of the server | 10 s, then they are cut off and answered | [`Resilient::grace`] |
//!
//! # Progress
//!
//! A tool that reports progress is alive. The limit of its attempt and the deadline of its call count
//! from the last report, up to the ceiling. The tool reports as without this crate, by
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
//! An [observer](crate::preset::ResilienceBuilder::observer) of the preset gets an event for each
//! heartbeat.
//!
//! # The end
//!
//! [`Resilient::run`] ends when its client leaves, on SIGTERM, SIGINT or SIGHUP, and after the first
//! fatal failure. Its page says what happens to the calls. A signal is a normal end.
//!
//! | `main` returns what `run` returned | Exit code |
//! |---|---|
//! | the client left, or a signal came | 0 |
//! | a fatal failure; rmcp's own service loop failed | 1, and the reason on stderr |
//!
//! [`Resilient::run_with_stop`] and [`Resilient::run_until`] take another [`Stop`] than the signals.
//! The signals have handlers from the start of `run`; before that, a signal ends the process. tokio
//! leaves the handlers installed, so after `run` has returned, these signals have no effect.
//!
//! # Over HTTP
//!
//! `StreamableHttpService` asks its factory for a handler for each session, or for each request. Make
//! the wrapper once and clone it in the factory: the clones share the handler, the budget, the log
//! and the end. [`Resilient::run_until`] ends such a server on a signal or after a fatal failure.
//! Without it, the server does not end.
//!
//! rmcp ends a session in which nothing is sent for 5 minutes, and the answer of a call that runs is lost with it.
//! Heartbeats keep it alive, for a client that gave a progress token, until the tool reports by itself. For a
//! tool that is silent for longer, raise `SessionConfig::keep_alive` above the attempt timeout.
//!
//! # Cancellation
//!
//! If the client cancels a request, the call is dropped, in an attempt or in a wait, and its line
//! says `cancelled`. The handler's future is dropped too, as it is after a timeout, and the request's
//! token is cancelled for tasks that the handler spawned. The future runs in rmcp's own task.
//!
//! If the client only leaves, running calls go on. Over stdio they get ten seconds, and are then
//! dropped. Over HTTP a session outlives its requests, so that a client may fetch the answer later,
//! and running calls go on to their end.
//!
//! # Panics
//!
//! A panic of the handler is a crash of its call. A panic of your closures and layers becomes a
//! JSON-RPC error. In each case the client gets an answer. To have panics only in the log, call
//! [`silence_panics`](crate::classify::silence_panics).
//!
//! # Not supported
//!
//! rmcp's feature `local`, with which a handler's futures may not be `Send`. Do not import this
//! module by its name, or with `*`: rmcp's macros refer to the crate of that name.
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
    AnyError, Attempt, HandlerAnswer, HandlerService, LineTransport, PresetStack, Resilient,
    ServerAnswer, ServerCall, Shutdown, StdinReader, StdoutWriter, Stop, stdio,
};
pub use self::{answer::Answer, request::Request};
