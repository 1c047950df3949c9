//! Clients of other servers over the transports of tower-mcp, with a connection that comes back.
//!
//! ```no_run
//! use mcp_resilience::{Failure, tower_mcp::client::{Client, Connector}};
//! use serde_json::json;
//! use tower_mcp::client::StdioClientTransport;
//!
//! # async fn run() -> Result<(), Failure> {
//! let connector = Connector::new(|| StdioClientTransport::spawn("bookshop", &[]));
//! let client = Client::connect(connector).await?;
//! let author = client.call_tool("get_author", json!({"title": "Dune"})).await?;
//! client.close().await;
//! # let _ = author;
//! # Ok(())
//! # }
//! ```
//!
//! tower-mcp's own client has no limits over stdio, and its connection ends for good with the first
//! failure of its transport. [`Connector`] makes a new transport, client and handshake at each dial,
//! within a limit. [`Client`] is the [preset](crate::preset) around [`Reconnect`](crate::reconnect)
//! around that.
//!
//! | Event | Without | Here |
//! |---|---|---|
//! | the server's process dies, a connection fails | every later call fails | a new connection; the next call works |
//! | a call gets no answer | waits for ever (over HTTP 30 s, and the client is dead) | 60 s without progress ([`attempt_timeout`](crate::preset::ResilienceBuilder::attempt_timeout)); a ping decides whether the connection stays |
//! | a dial hangs | waits for ever | 30 s ([`Connector::start_timeout`]) |
//! | the server no longer knows the session | N calls make N handshakes, and are sent again whatever they do | one new connection; a call is sent again only if it may run twice |
//! | 429 and 503 | an error | a wait, for calls that may run twice |
//!
//! # What is sent again
//!
//! A call that never reached the transport is [`NotSent`](crate::Delivery::NotSent), and is
//! repeated for every tool. A JSON-RPC error of the server counts as [`classify`](crate::classify)
//! says. In all other cases the call may have run, even after an HTTP status: tower-mcp's transport
//! reports it as a JSON-RPC error, which a server could send as well. So the call is sent again
//! only if the server's list says that its tool may run twice.
//!
//! # Limits
//!
//! | | Default | Set by |
//! |---|---|---|
//! | transport, handshake and list of tools | 30 s | [`Connector::start_timeout`] |
//! | an attempt, without progress | 60 s | [`attempt_timeout`](crate::preset::ResilienceBuilder::attempt_timeout) |
//! | progress extends it up to | 1 h | [`ceiling`](crate::policy::Policy::ceiling) |
//! | the end: running calls, then the server | 10 s, then 8 s | [`Client::close`] |
//!
//! The `request_timeout` of tower-mcp's HTTP transport is 30 s by default, below the limit of an
//! attempt: set it higher for tools that work longer.
//!
//! # Limits of the adapter
//!
//! [`Client::call`] returns requests for input and tasks as they are. The list of tools is read at
//! each dial, and not when the server announces a change.

mod builder;
mod call;
mod connection;
mod connector;
mod errors;
mod request;
mod traffic;
mod watched;

pub use self::{
    builder::ClientBuilder, call::ClientCall, connection::Connection, connector::Connector,
    request::Request,
};
pub use client::Client;

#[expect(
    clippy::module_inception,
    reason = "the file of the type that the room is named after"
)]
mod client;
