//! The client side: connections to servers of others that come back (feature `rmcp-client`).
//!
//! | Type | Is |
//! |---|---|
//! | [`Client`] | a server with all layers around it: for most |
//! | [`ChildProcess`] | connects over the stdio of a child process |
//! | `Http` | connects over streamable HTTP (feature `rmcp-client-http`) |
//! | [`CallBuilder`] | a call with options of its own, made by [`Client::call`] |
//! | [`transport_fn`] | connects over any transport: a socket, a pipe in memory, a double |
//! | [`Connection`] | what a connector makes: a service of [`ClientCall`]s |
//! | [`Catalog`] | what is known of the server's tools |
//! | [`classify_call`] | names the errors of a client of rmcp's own, which you have already |
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
//! It always ends, within the limits of the [preset](crate::preset#defaults). The connection it ran on is
//! replaced when that was lost, or the server forgot the session, or the answer did not come in time
//! and the server does not answer a `ping` either; see [`reconnect`](crate::reconnect). Other calls on the
//! old connection are left to finish. Whether
//! the call is made again depends on how far it came, and on what is known of its tool:
//!
//! | | Delivery | Repeated |
//! |---|---|---|
//! | the connection was closed before it was sent; nothing listens | not sent | any tool |
//! | the server says by an HTTP status 4xx that it does not know the session | refused | any tool, once |
//! | it says so in a JSON-RPC error, on a connection that has a session: it may be of a session of the tool's own | unknown | read-only and idempotent tools, once |
//! | it answers 404 to a session, and does not say why | unknown | read-only and idempotent tools, once |
//! | the server refused: 401, 403, 429, 408 and 503 with `Retry-After`, a documented code | refused | where the class says so |
//! | the connection was lost, no answer in time | unknown | read-only and idempotent tools |
//! | an answer came, and cannot be read | executed | no tool; the model is told to verify first |
//!
//! A text with the id of a call ends that call at once. Common slips of servers are mended: null members,
//! ids and codes of another type, batches, blocks of content that cannot be read, which a text stands for.
//! What cannot be mended is [`InvalidOutput`](crate::Class::InvalidOutput), and the connection is kept.
//! Other texts are skipped; they are in the events of `tracing`, and in the failure of a call that times out
//! or is lost while it waits.
//!
//! Each attempt has a request id of its own, and one that is given up is cancelled at the server. rmcp
//! repeats nothing by itself: its replay after a lost session is off, and what it resumes is a stream,
//! by `GET`.
//!
//! # Progress
//!
//! The limit of an attempt counts from the server's last report of progress, up to the
//! [ceiling](crate::preset#defaults). Each attempt sends a progress token of its own. Its reports reach
//! the connector's handler (`on_progress`) under the token that the caller set in the call's `_meta`,
//! whatever the attempt, and their values never decrease over one call. Without a token of the caller's
//! they come under the attempt's own. Reports of an attempt that is over are dropped.
//!
//! # What is known of a tool
//!
//! `readOnlyHint` and `idempotentHint` of the server's list. Each client has its own [`Catalog`]; what a
//! server says to one client changes nothing for another, also if their connectors are clones of one.
//!
//! | Event | What happens |
//! |---|---|
//! | a dial | the list is read; the new one replaces the old |
//! | the list cannot be read at a dial | the client works; the list before stays, if there is one; else [`Client::tools`] gives the failure, and calls have no hints |
//! | the same, at the first dial, and the server asks to wait | the wait is waited out if it fits into the start timeout, and the list is asked for again |
//! | the server announces `tools/list_changed` | the hints of the list do not count any more, also for calls that run; the list is read again in the background |
//! | a tool is listed in another way than before (hints, schema, text) | its name is logged; a call that began before is not made again |
//! | a reading in the background fails | the next comes after 0.5 s, then twice as long up to 1 min, and never earlier than the server asked |
//! | announcements all the time | the same pauses between two readings |
//! | a cursor that was seen before; more than 1,000 pages or 10,000 tools | the list ends there; [`Catalog::incomplete`] says why |
//!
//! From MCP 2026-07-28 on a server announces changes to subscribers alone; the client subscribes. The
//! reading ends with the connection.
//!
//! A [policy](crate::policy) for a tool that a complete list does not have gets a warning with its name,
//! at each dial.
//!
//! A server is not always right: [`ClientBuilder::hints`] overrides it for one tool, and
//! [`distrust_server`](crate::retry::RetryBuilder::distrust_server) for all.
//!
//! A connector works under [`reconnect`](crate::reconnect) without a client too. Each of its connections
//! has a catalog of its own then, and a call gets its hints from there, or from you:
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
//! # Requests that are no calls
//!
//! Lists, completions, subscriptions and pings have methods of [`Client`], and
//! [`with_peer`](Client::with_peer) makes any other. They wait for a connection, and have a limit
//! ([`request_timeout`](ClientBuilder::request_timeout), 30 s). Those with a method of their own are made
//! once more on a new connection if they were not sent or the session was lost; what `with_peer` makes is
//! not. The user's handler of a connector gets all that the
//! server asks and tells, as rmcp hands it over.
//!
//! A server forgets subscriptions and the log level with a connection: the client tells them again on the
//! next, and then runs the [hook](ClientBuilder::on_connect) of yours.
//!
//! # Limits
//!
//! | | Default | Set by |
//! |---|---|---|
//! | one attempt of a call | 60 s without progress; see the [preset](crate::preset#defaults) | [`attempt_timeout`](crate::preset::ResilienceBuilder::attempt_timeout) |
//! | the same, on one connection | none | `call_timeout` of the connector; it strikes first if it is lower |
//! | a start, with handshake and list | 10 s | `start_timeout` of the connector |
//! | a request that is no call | 30 s | [`request_timeout`](ClientBuilder::request_timeout) |
//! | calls that run at a [`close`](Client::close) | 10 s | [`close_timeout`](ClientBuilder::close_timeout) |
//!
//! # Signals
//!
//! A signal that ends the process runs no destructor: the call has no line in the log, and a child process
//! that does not heed the end of its stdin lives on. Wait for the signals, drop the call, and close the
//! client. `examples/call.rs` does the same with exit codes.
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
//! The first dial that fails is one, unless
//! [`retry_first_dial`](crate::reconnect::ReconnectBuilder::retry_first_dial) is set. Later, a missing
//! command and refused credentials are dialled again like any other failure, with a backoff.
//!
//! # When not to use it
//!
//! For a service over HTTP that is no MCP server. And where several processes are to share one server:
//! each client has a connection, and a child process, of its own.

mod announced;
mod attic;
mod builder;
mod call;
mod call_builder;
mod catalog;
mod census;
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
mod input;
mod kept;
mod keys;
mod lister;
mod pages;
mod process;
mod progress;
mod requests;
mod running;
mod settings;
mod tool_changes;
mod transport_fn;
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
    transport_fn::{TransportFn, line_transport, transport_fn},
};
#[cfg(feature = "rmcp-client-http")]
pub use self::{
    endpoint::{Challenge, HttpError, HttpRefusal},
    http::Http,
};
