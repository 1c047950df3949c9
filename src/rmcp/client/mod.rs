//! The client side: connections to servers of others that come back (feature `rmcp-client`).
//!
//! | Type | Is |
//! |---|---|
//! | [`Client`] | a server with all layers around it: for most |
//! | [`ChildProcess`] | connects over the stdio of a child process |
//! | `Http` | connects over streamable HTTP (feature `rmcp-client-http`) |
//! | [`Connection`] | what a connector makes: a service of [`ClientCall`]s, with a time limit for each |
//! | [`Catalog`] | what is known of the server's tools |
//! | [`classify_call`] | names the errors of a client of rmcp's own, which you have already |
//!
//! ```no_run
//! use mcp_resilience::rmcp::client::{ChildProcess, Client};
//! use rmcp::model::{CallToolRequestParams, CallToolResponse};
//!
//! # async fn run() -> Result<(), mcp_resilience::Failure> {
//! let server = ChildProcess::new("npx").args(["-y", "@modelcontextprotocol/server-everything"]);
//! let client = Client::connect(server).await?;
//!
//! let arguments = serde_json::json!({"message": "hello"});
//! let call = CallToolRequestParams::new("echo")
//!     .with_arguments(arguments.as_object().cloned().unwrap_or_default());
//! if let CallToolResponse::Complete(result) = client.call_tool(call).await? {
//!     println!("{result:?}");
//! }
//! client.close().await;
//! # Ok(())
//! # }
//! ```
//!
//! # What becomes of a call
//!
//! It always ends, within the deadline of the [preset](crate::preset). The connection it ran on is
//! replaced when that was lost, or the answer did not come in time, or the server forgot the session;
//! see [`reconnect`](crate::reconnect). Other calls on the old connection are left to finish. Whether
//! the call is made again depends on how far it came, and on what is known of its tool:
//!
//! | | Delivery | Repeated |
//! |---|---|---|
//! | the connection was closed before it was sent; nothing listens | not sent | any tool |
//! | the server says that it does not know the session | refused | any tool, once |
//! | it answers 404 to a session, and does not say why | unknown | read-only and idempotent tools, once |
//! | the server refused: 401, 403, 429, 408 and 503 with `Retry-After`, a documented code | refused | where the class says so |
//! | the connection was lost, no answer in time | unknown | read-only and idempotent tools |
//! | the answer had no id, or a foreign one | unknown | read-only and idempotent tools |
//!
//! Each attempt has a request id of its own, and one that is given up is cancelled at the server. rmcp
//! repeats nothing by itself: its replay after a lost session is off, and what it resumes is a stream,
//! by `GET`.
//!
//! # What is known of a tool
//!
//! `readOnlyHint` and `idempotentHint` of the server's list, read at every dial; a call has what was
//! known when it was made. A server is not always right: [`ClientBuilder::hints`] overrides it for one
//! tool, and [`distrust_server`](crate::retry::RetryBuilder::distrust_server) for all.
//!
//! # Fatal failures
//!
//! The first dial that fails is one, unless
//! [`retry_first_dial`](crate::reconnect::ReconnectBuilder::retry_first_dial) is set. A missing
//! command, a URL that is none, and a server that refuses the credentials are never tried again.
//!
//! # When not to use it
//!
//! For a service over HTTP that is no MCP server. And where several processes are to share one server:
//! each client has a connection, and a child process, of its own.

mod announced;
mod builder;
mod call;
mod catalog;
mod census;
mod child;
#[expect(clippy::module_inception, reason = "a file for a type")]
mod client;
mod connection;
mod connector;
mod dial;
mod errors;
#[cfg(feature = "rmcp-client-http")]
mod http;
mod lister;
mod pages;
mod requests;
mod settings;

#[cfg(feature = "rmcp-client-http")]
pub use self::http::{Http, HttpError, HttpRefusal};
pub use self::{
    builder::ClientBuilder,
    call::ClientCall,
    catalog::Catalog,
    child::ChildProcess,
    client::Client,
    connection::Connection,
    connector::Connector,
    errors::{classify_call, classify_start},
};
