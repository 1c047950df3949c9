//! The adapter for [tower-mcp](https://docs.rs/tower-mcp/0.25), the other Rust SDK (feature `tower-mcp`,
//! which needs Rust 1.90).
//!
//! [`Resilient`] wraps an [`McpRouter`](::tower_mcp::McpRouter) and is the same service. Tool calls,
//! resource reads and prompts go through one stack. Every other method goes straight to the router.
//!
//! ```no_run
//! use mcp_resilience::{fatal::Fatal, tower_mcp::Resilient};
//! use tower_mcp::McpRouter;
//!
//! #[tokio::main]
//! async fn main() -> Result<(), Fatal> {
//!     let router = McpRouter::new().server_info("bookshop", "1.0.0");
//!     Resilient::new(router).run().await
//! }
//! ```
//!
//! [`ResilientLayer`] goes into the `layer` of a transport, over stdio or HTTP. Its stack is made
//! once: all sessions share the budget, the log, the end, and the layers inside. (tower-mcp makes a
//! service for each HTTP request, so that a layer with its state in the service starts again each
//! time.)
//!
//! For clients, [`client`] has connections that come back.
//!
//! # How a handler fails
//!
//! A failure of tower-mcp can be in three places: an error of the service, a JSON-RPC error in the
//! response, and a flagged result. The router's service has no error, and turns the error of a tool's
//! handler into a text. The adapter passes all three to `classify` unchanged:
//!
//! | The handler | The client gets |
//! |---|---|
//! | of a tool returns `Err(Failure)` by `?` | a flagged result or a JSON-RPC error, by its [class](crate::failure) |
//! | of a tool returns another `Err` | tower-mcp's text of it, flagged; through [`AnyError`] a crash, whose text stays in the log |
//! | of a resource or a prompt returns `Err(Failure)` or an `AnyError` by `?` | a JSON-RPC error, as [`is_error`](crate::is_error) says |
//! | of a resource or a prompt returns another `Err` | the JSON-RPC error that tower-mcp makes of it |
//! | returns a flagged result | that result, as it is |
//! | panics, and the router does not catch panics | a crash (without this wrapper: no answer, ever) |
//! | answers `InputRequired`, or makes a task | that answer, as it is |
//!
//! For every error or flagged result of a handler, it is unknown whether the call ran. If nothing
//! was done yet, call [`before_running`](crate::Failure::before_running). If a repeat is safe, call
//! [`with_retryable`](crate::Failure::with_retryable).
//!
//! ```
//! use mcp_resilience::{Failure, tower_mcp::AnyError};
//! use tower_mcp::{CallToolResult, ToolBuilder};
//! # #[derive(serde::Deserialize, tower_mcp::schemars::JsonSchema)]
//! # #[schemars(crate = "tower_mcp::schemars")]
//! # struct Book { title: String }
//! # fn find(_: &str) -> Result<String, Failure> { Err(Failure::tool("no such book")) }
//!
//! let tool = ToolBuilder::new("get_author")
//!     .read_only()
//!     .handler(|book: Book| async move {
//!         let author = find(&book.title)?;
//!         // Any other error goes through `AnyError`.
//!         std::fs::write("last.txt", &author).map_err(AnyError::from)?;
//!         Ok(CallToolResult::text(author))
//!     })
//!     .build();
//! # let _ = tool;
//! ```
//!
//! The failure leaves the handler's future also through layers of a single tool
//! (`ToolBuilder::layer`) that pass its error on. In a task that the handler spawned, it cannot be
//! kept: it becomes a JSON-RPC error there, and is logged.
//!
//! # Hints
//!
//! Annotations and `outputSchema` come from the router's answers to `tools/list` of any client. If a
//! tool is called before any such answer, the router is asked for a list. The lists of all sessions
//! count together. If they differ, or change over time, a hint counts only if every list so far had
//! it. Reading a resource or a prompt may happen twice. A call with `inputResponses` or
//! `requestState` may not run twice, whatever its tool.
//!
//! # Limits
//!
//! Those of the [preset](crate::preset), which a router did not have before: 10 minutes for an
//! attempt without progress, further attempts within 55 s, and three attempts if a repeat is allowed.
//! At the end of the server, running calls get 10 s ([`ResilientLayer::grace`]).
//!
//! # Progress
//!
//! A tool that reports progress is alive. The limit of its attempt and the deadline of its call count
//! from the last report, up to the ceiling. The tool reports as without this crate, by
//! `report_progress` of its context.
//!
//! If the client gave a progress token, it gets each report. Values never decrease: a lower report of
//! a repeated call is raised to the highest so far. While a call waits, or has not reported in its
//! attempt, the server itself sends progress every 15 s. The message names the wait and its reason; see
//! [`ResilientLayer::heartbeat`]. Over HTTP, progress comes as tower-mcp sends it: in a session on its
//! standing stream.
//!
//! A tool whose client gave no token can report by hand. The extensions of a request hold a
//! [`Ticker`](crate::call::Ticker) and an [`Attempt`]:
//!
//! ```
//! use mcp_resilience::call::Ticker;
//! use tower_mcp::{CallToolResult, NoParams, ToolBuilder, extract::{Extension, Json}};
//!
//! let tool = ToolBuilder::new("export")
//!     .extractor_handler((), |Extension(ticker): Extension<Ticker>, _: Json<NoParams>| async move {
//!         for _page in 0..3 {
//!             // … a page …
//!             ticker.tick();
//!         }
//!         Ok(CallToolResult::text("done"))
//!     })
//!     .build();
//! # let _ = tool;
//! ```
//!
//! # The end
//!
//! [`ResilientLayer::run`] ends a server on stdio when its client leaves, on SIGTERM, SIGINT or
//! SIGHUP, and after the first fatal failure. [`ResilientLayer::run_until`] ends a server over HTTP,
//! and has an example.
//!
//! # Cancellation
//!
//! If the client cancels a request, the call is dropped, in an attempt or in a wait, and its line
//! says `cancelled`. (tower-mcp alone only tells the handler, which may go on.) After an attempt,
//! tower-mcp leaves the request without an answer. In a wait it answers with an error, which the
//! client ignores.
//!
//! tower-mcp finds requests by their id alone, over all sessions. So a cancellation over HTTP may
//! meet a call of another session with the same id, as without this wrapper. It may also miss a call
//! while another with its id waits.
//!
//! # Idempotency keys
//!
//! With an [`IdempotencyLayer`](crate::idempotency::IdempotencyLayer) in the preset, a call that has a key runs
//! once. tower-mcp keeps only the members of `_meta` that it knows. Over stdio, [`ResilientLayer::run`] reads
//! the key before tower-mcp does, and the server says that it honours keys.
//! Over HTTP it says nothing of them, so that no client relies on a key that does not arrive. There, put an
//! [`IdempotencyKey`](crate::call::IdempotencyKey) into the extensions of the request, or take the key from an
//! [argument](crate::idempotency::IdempotencyBuilder::argument). The tool gets the key as an
//! `Extension<IdempotencyKey>`. All callers are one identity, unless a
//! [scope](crate::idempotency::IdempotencyBuilder::scope) tells them apart: set one if your callers must not see
//! each other's answers. A task is not kept: a later attempt learns only that it has begun.
//!
//! # Limits of the adapter
//!
//! tower-mcp's JSON-RPC layer answers a call by itself that it cannot read, and refuses a line as a whole if
//! one message of it is invalid. Over stdio, by [`ResilientLayer::run`], such a call leaves its line in the
//! log; over HTTP no service sees it, and it leaves none.
//! With a dynamic registry of tower-mcp, a client that gives progress tokens gets each `list_changed` twice,
//! since the registry also keeps the channel on which the progress of its tools is seen.
//! A tool that runs as a task answers when the task begins; the end of the task is not seen. The
//! session is in the log if the server bridges a [`SessionId`].

pub mod client;
mod model;
mod server;
mod session_id;

pub use self::{
    server::{PresetStack, Resilient, ResilientLayer, RouterService, ServerAnswer, ServerCall},
    session_id::SessionId,
};
pub use crate::serve::{
    AnyError, Attempt, HandlerAnswer, Shutdown, StdinReader, StdoutWriter, Stop, stdio,
};
