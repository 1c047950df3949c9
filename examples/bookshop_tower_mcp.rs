//! The Bookshop as an MCP server on tower-mcp, with the preset around its router.
//!
//! ```text
//! bookshop_tower_mcp [--http ADDR] [--catalog FILE] [--require-env NAME]
//!                    [--attempt-timeout SECONDS] [--tool-timeout NAME=SECONDS]...
//!                    [--grace SECONDS]
//! ```
//!
//! The same shop and options as in the example `bookshop`.

mod shop;
mod shop_tower_mcp;

use axum::{extract::Request, middleware::map_request};
use clap::Parser;
use mcp_resilience::{
    classify::silence_panics,
    fatal::{Fatal, startup::OrFatal},
    tower_mcp::{ResilientLayer, SessionId, Stop},
};
use shop::options::Options;
use std::net::SocketAddr;
use tokio::net::TcpListener;
use tower_mcp::{HttpTransport, McpRouter, StdioTransport};

#[tokio::main]
async fn main() {
    // The log on stderr has the panics of tools.
    silence_panics();
    if let Err(fatal) = Box::pin(run(Options::parse())).await {
        // Exit here, because printing the reason could block for ever if stderr has no reader.
        fatal.exit();
    }
}

async fn run(options: Options) -> Result<(), Fatal> {
    let router = shop_tower_mcp::router(options.shop()?);
    let mut server = ResilientLayer::with_preset(&options.resilience()?);
    if let Some(grace) = options.grace {
        server = server.grace(grace);
    }
    match options.http {
        None => Box::pin(server.run(StdioTransport::new(router))).await,
        Some(address) => serve_http(server, router, address).await,
    }
}

async fn serve_http(
    server: ResilientLayer,
    router: McpRouter,
    address: SocketAddr,
) -> Result<(), Fatal> {
    let listener = TcpListener::bind(address)
        .await
        .or_fatal(format!("cannot listen on {address}"))?;
    let address = listener.local_addr().or_fatal("no local address")?;
    eprintln!("listening on http://{address}/mcp");

    let router = HttpTransport::new(router)
        .layer(server.clone())
        .bridge_extension::<SessionId>()
        .into_router_at("/mcp")
        .layer(map_request(name_session));
    let serve = async |shutdown| {
        axum::serve(listener, router)
            .with_graceful_shutdown(shutdown)
            .await
    };
    server.run_until(Stop::signals(), || {}, serve).await
}

/// Puts the session's id into the log. tower-mcp does not pass it to its router.
async fn name_session(mut request: Request) -> Request {
    let id = request.headers().get("mcp-session-id");
    if let Some(id) = id.and_then(|id| id.to_str().ok()).map(SessionId::new) {
        request.extensions_mut().insert(id);
    }
    request
}
