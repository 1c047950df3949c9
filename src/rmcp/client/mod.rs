//! Clients of other servers, over connections that come back (feature `rmcp-client`).
//!
//! | Type | Is |
//! |---|---|
//! | [`Client`] | a client of one server with all layers: for most users |
//! | [`ChildProcess`] | connects over the stdio of a child process |
//! | `Http` | connects over streamable HTTP (feature `rmcp-client-http`) |
//! | [`CallBuilder`] | a call with options of its own, made by [`Client::call`] |
//! | [`transport_fn`] | connects over any transport: a socket, a pipe in memory, a test double |
//! | [`Connection`] | one connection: a service of [`ClientCall`]s |
//! | [`Catalog`] | what is known of the server's tools |
//! | [`classify_call`] | classifies the errors of a client of rmcp's own |
//!
//! ```no_run
//! use mcp_resilience::rmcp::client::{ChildProcess, Client};
//! use serde_json::json;
//!
//! # async fn run() -> Result<(), mcp_resilience::Failure> {
//! let server = ChildProcess::new("npx").args(["-y", "@modelcontextprotocol/server-everything"]);
//! let client = Client::connect(server).await?;
//!
//! let result = client.call("echo", json!({"message": "hello"})).await?;
//! println!("{result:?}");
//! client.close().await;
//! # Ok(())
//! # }
//! ```
//!
//! # What becomes of a call
//!
//! It always ends, within the limits of the [preset](crate::preset#defaults). Its connection is
//! replaced in three cases: the connection was lost, the server forgot the session, or the server
//! answered neither the call nor a `ping` in time. See [`reconnect`](crate::reconnect). Other calls
//! on the old connection finish there.
//!
//! Whether the call is repeated depends on how far it got, and on its tool:
//!
//! | | Delivery | Repeated |
//! |---|---|---|
//! | the connection was closed before it was sent; nothing listens | not sent | any tool |
//! | the server says by an HTTP status 4xx that it does not know the session | refused | any tool, once |
//! | it says so in a JSON-RPC error, on a connection that has a session; it may mean a session of the tool's own | unknown | read-only and idempotent tools, once |
//! | it answers 404 to a session without a reason | unknown | read-only and idempotent tools, once |
//! | the server refused: 401, 403, 429, 408 and 503 with `Retry-After`, a documented code | refused | if waiting helps the class |
//! | the connection was lost, no answer in time | unknown | read-only and idempotent tools |
//! | an answer came, and cannot be read | executed | no tool; the model is asked to verify first |
//!
//! An unreadable text with the id of a call ends that call at once. Common errors of servers are
//! repaired: null members, ids and codes of another type, batches, and unreadable blocks of content,
//! which are replaced by a text. What cannot be repaired is
//! [`InvalidOutput`](crate::Class::InvalidOutput), and the connection is kept. Other texts are
//! skipped. They are events of `tracing`, and in the failure of a call that times out or is lost
//! meanwhile.
//!
//! Each attempt has its own request id. An attempt that is given up is cancelled at the server. rmcp
//! repeats nothing by itself: its replay after a lost session is off, and it resumes only streams, by
//! `GET`.
//!
//! # Progress
//!
//! The limit of an attempt counts from the server's last report of progress, up to the
//! [ceiling](crate::preset#defaults). Each attempt sends its own progress token. The connector's
//! handler (`on_progress`) gets the reports with the token that the caller set in the call's `_meta`,
//! and their values never decrease over one call. Without a token of the caller, they have that of
//! the attempt. Reports of a finished attempt are dropped.
//!
//! # What is known of a tool
//!
//! `readOnlyHint` and `idempotentHint` of the server's list. Each client has its own [`Catalog`];
//! what a server says to one client changes nothing for another, even if their connectors are clones
//! of one.
//!
//! | Event | What happens |
//! |---|---|
//! | a dial | the list is read, and replaces the old one |
//! | the list cannot be read at a dial | the client works, with the earlier list if there is one; else [`Client::tools`] returns the failure, and calls have no hints |
//! | the same at the first dial, and the server asks to wait | if the wait fits into the start timeout, the client waits and reads the list again |
//! | the server announces `tools/list_changed` | the hints of the list no longer count, also for running calls; the list is read again in the background |
//! | a tool is listed differently than before (hints, schema, text) | its name is logged, and [`Catalog::changes`] tells it; a call that began before is not repeated |
//! | a reading in the background fails | it is repeated after 0.5 s, then after twice as long, up to 1 min, and never earlier than the server asked |
//! | a server announces changes all the time | the same pauses between two readings |
//! | a cursor is repeated; more than 1,000 pages or 10,000 tools | the list ends there; [`Catalog::incomplete`] says why |
//!
//! From MCP 2026-07-28 on, a server announces changes only to subscribers, so the client subscribes.
//! The background reading ends with the connection.
//!
//! If a [policy](crate::policy) is for a tool that a complete list does not have, there is a warning
//! with its name at each dial.
//!
//! If the server's hints are wrong, [`ClientBuilder::hints`] overrides them for one tool, and
//! [`distrust_server`](crate::retry::RetryBuilder::distrust_server) for all.
//!
//! A connector also works under [`reconnect`](crate::reconnect) without a client. Then each
//! connection has its own catalog, and a call gets its hints from there or from you:
//!
//! ```no_run
//! use mcp_resilience::{call::Hints, reconnect::ReconnectLayer, retry::RetryLayer};
//! use mcp_resilience::rmcp::client::{ChildProcess, ClientCall};
//! use rmcp::model::CallToolRequestParams;
//! use tower::{Layer, Service, ServiceExt};
//!
//! # async fn run() -> Result<(), mcp_resilience::Failure> {
//! let connections = ReconnectLayer::new(()).layer(ChildProcess::new("server"));
//! let handle = connections.handle();
//! let mut tools = RetryLayer::new().layer(connections);
//! handle.connect().await?;
//!
//! let call = CallToolRequestParams::new("look");
//! let call = match handle.connection() {
//!     Some(connection) => connection.catalog().call(call),
//!     None => ClientCall::new(call, Hints::new().read_only(true)),
//! };
//! let answer = tools.ready().await?.call(call).await?;
//! # let _ = answer;
//! # Ok(())
//! # }
//! ```
//!
//! # Requests other than calls
//!
//! Lists, completions, subscriptions and pings have methods of [`Client`];
//! [`with_peer`](Client::with_peer) makes any other request. They wait for a connection, and have a
//! limit ([`request_timeout`](ClientBuilder::request_timeout), 30 s). Requests with their own method
//! are made once more on a new connection if they were not sent or the session was lost. A request of
//! `with_peer` is not. The connector's handler gets all requests and notifications of the server, as
//! rmcp delivers them.
//!
//! A server loses subscriptions and the log level with a connection. The client restores them on the
//! next one, and then runs your [hook](ClientBuilder::on_connect).
//!
//! # Limits
//!
//! | | Default | Set by |
//! |---|---|---|
//! | one attempt of a call | 60 s without progress; see the [preset](crate::preset#defaults) | [`attempt_timeout`](crate::preset::ResilienceBuilder::attempt_timeout) |
//! | the same, on one connection | none | `call_timeout` of the connector, if it is lower |
//! | a start, with handshake and list | 10 s | `start_timeout` of the connector |
//! | a request other than a call | 30 s | [`request_timeout`](ClientBuilder::request_timeout) |
//! | running calls at a [`close`](Client::close) | 10 s | [`close_timeout`](ClientBuilder::close_timeout) |
//!
//! # Signals
//!
//! If a signal ends the process, no destructor runs: the call has no line in the log, and a child
//! process that ignores the end of its stdin lives on. Wait for the signals, drop the call, and close
//! the client. `examples/call.rs` does the same with exit codes.
//!
//! ```no_run
//! use mcp_resilience::{ResilienceLayer, rmcp::client::{ChildProcess, Client}};
//! use rmcp::model::CallToolRequestParams;
//! use std::time::Duration;
//! use tokio::signal::unix::{SignalKind, signal};
//!
//! # async fn run() -> Result<(), Box<dyn std::error::Error>> {
//! // First of all, so that nothing is started before.
//! let (mut hangup, mut terminate) = (signal(SignalKind::hangup())?, signal(SignalKind::terminate())?);
//! let resilience = ResilienceLayer::new();
//! let sink = resilience.log_sink();
//! let client = Client::builder(ChildProcess::new("server")).resilience(resilience).build();
//! tokio::select! {
//!     answer = client.call_tool(CallToolRequestParams::new("look")) => println!("{answer:?}"),
//!     _ = hangup.recv() => {}
//!     _ = terminate.recv() => {}
//!     _ = tokio::signal::ctrl_c() => {}
//! }
//! // The call was dropped, and its line is on the way.
//! if let Some(sink) = sink {
//!     sink.flush(Duration::from_secs(1));
//! }
//! // A child that does not end is killed, with all that it started, when the runtime ends.
//! let _ = tokio::time::timeout(Duration::from_secs(1), client.close()).await;
//! # Ok(())
//! # }
//! ```
//!
//! # Fatal failures
//!
//! The first dial that fails is fatal, unless
//! [`retry_first_dial`](crate::reconnect::ReconnectBuilder::retry_first_dial) is set. Later, a
//! missing command and refused credentials are retried like any other failure, with a backoff.
//!
//! # When not to use it
//!
//! For an HTTP service that is not an MCP server. Nor if several processes have to share one server:
//! each client has its own connection, and its own child process.

// From the top down, each line imports only from those below it:
//
//   builder  call_builder  requests             child  http  transport_fn
//   client                                      dial  connector
//   keys                            connection
//   announced  call  lister  settings  tool_changes
//   catalog  errors  transport_parts
//   endpoint/ (HTTP)
//   abandoned  in_flight  kept  opening  pages  progress  running  tool_change  waiting
//   process/ (child processes)  wire/ (messages)
//
// The three folders know no client.

mod abandoned;
mod announced;
mod builder;
mod call;
mod call_builder;
mod catalog;
mod child;
#[expect(clippy::module_inception, reason = "a file for a type")]
mod client;
mod connection;
mod connector;
mod dial;
#[cfg(feature = "rmcp-client-http")]
mod endpoint;
mod errors;
#[cfg(feature = "rmcp-client-http")]
mod http;
mod in_flight;
mod kept;
mod keys;
mod lister;
mod opening;
mod pages;
mod process;
mod progress;
mod requests;
mod running;
mod settings;
mod tool_change;
mod tool_changes;
mod transport_fn;
mod transport_parts;
mod waiting;
mod wire;

pub use self::{
    builder::ClientBuilder,
    call::ClientCall,
    call_builder::CallBuilder,
    catalog::Catalog,
    child::ChildProcess,
    client::Client,
    connection::Connection,
    connector::Connector,
    errors::{classify_call, classify_start},
    tool_change::ToolChange,
    tool_changes::ToolChanges,
    transport_fn::{TransportFn, line_transport, transport_fn},
};
#[cfg(feature = "rmcp-client-http")]
pub use self::{
    endpoint::{Challenge, HttpError, HttpRefusal},
    http::Http,
};
