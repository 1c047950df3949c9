//! Clients of servers, over the transports of tower-mcp, whose connection comes back.
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
//! tower-mcp's own client has no limits over stdio, and its connection ends for good with the first failure of
//! its transport. [`Connector`] makes a transport, a client and a handshake anew at each dial, within a
//! limit; [`Client`] is the [preset](crate::preset) around [`Reconnect`](crate::reconnect) around that.
//!
//! | Event | Without | Here |
//! |---|---|---|
//! | the server's process dies, a connection fails | every later call fails | a new connection; the next call works |
//! | a call gets no answer | waits for ever (over HTTP 30 s, and the client is dead) | 60 s without progress ([`attempt_timeout`](crate::preset::ResilienceBuilder::attempt_timeout)); a ping decides whether the connection stays |
//! | a dial hangs | waits for ever | 30 s ([`Connector::start_timeout`]) |
//! | the server no longer knows the session | N calls shake hands N times, and are sent again whatever they do | one new connection; only what may run twice is sent again |
//! | 429 and 503 | an error | a wait, for what may run twice |
//!
//! # What is sent again
//!
//! A call that never reached the transport is [`NotSent`](crate::Delivery::NotSent), and is sent again
//! whatever its tool does. A JSON-RPC error of the server counts as [`classify`](crate::classify) says. All
//! else may have run, a status of HTTP included: tower-mcp's transport reports it in a JSON-RPC error that a
//! server could send as well. So it is sent again only if the server's list of tools says that the tool may
//! run twice.
//!
//! # Limits
//!
//! | | Default | Set by |
//! |---|---|---|
//! | transport, handshake and list of tools | 30 s | [`Connector::start_timeout`] |
//! | an attempt, without progress | 60 s | [`attempt_timeout`](crate::preset::ResilienceBuilder::attempt_timeout) |
//! | progress extends it up to | 1 h | [`ceiling`](crate::policy::Policy::ceiling) |
//! | the end: calls that run, then the server | 10 s, then 8 s | [`Client::close`] |
//!
//! The `request_timeout` of tower-mcp's HTTP transport, 30 s unless set, is below the first: set it higher for
//! tools that work for longer.
//!
//! # Not here
//!
//! Answers that ask for input, and tasks, come back as they are from [`Client::call`]. The list of tools is
//! read at each dial, and not when the server announces a change.

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
