//! The Bookshop as an MCP server on rmcp, with the preset around its handler.
//!
//! ```text
//! bookshop [--http ADDR] [--catalog FILE] [--require-env NAME] [--attempt-timeout SECONDS]
//!          [--tool-timeout NAME=SECONDS]... [--grace SECONDS]
//! ```
//!
//! Serves stdio by default: stdout carries the protocol, and stderr one JSON line for each call.
//! SIGTERM, SIGINT and SIGHUP shut it down in order, with exit code 0. A fatal failure ends it with
//! exit code 1.

mod shop;
mod shop_rmcp;

use clap::Parser;
use mcp_resilience::{
    classify::silence_panics,
    fatal::{Fatal, startup::OrFatal},
    rmcp::{Resilient, Stop},
};
use rmcp::transport::{
    StreamableHttpServerConfig, StreamableHttpService, stdio,
    streamable_http_server::session::local::LocalSessionManager,
};
use shop::options::Options;
use shop_rmcp::Bookshop;
use std::{net::SocketAddr, sync::Arc};
use tokio::net::TcpListener;

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
    let handler = Bookshop::new(options.shop()?);
    let mut server = Resilient::with_preset(handler, &options.resilience()?);
    if let Some(grace) = options.grace {
        server = server.grace(grace);
    }
    match options.http {
        None => Box::pin(server.run(stdio())).await,
        Some(address) => serve_http(server, address).await,
    }
}

async fn serve_http(server: Resilient<Bookshop>, address: SocketAddr) -> Result<(), Fatal> {
    let listener = TcpListener::bind(address)
        .await
        .or_fatal(format!("cannot listen on {address}"))?;
    let address = listener.local_addr().or_fatal("no local address")?;
    eprintln!("listening on http://{address}/mcp");

    let config = StreamableHttpServerConfig::default();
    let sessions = config.cancellation_token.clone();
    // One server for all sessions. Its clones share the budget, the log and the shutdown.
    let handler = server.clone();
    let service = StreamableHttpService::new(
        move || Ok(handler.clone()),
        Arc::new(LocalSessionManager::default()),
        config,
    );
    let router = axum::Router::new().nest_service("/mcp", service);
    let serve = async |shutdown| {
        axum::serve(listener, router)
            .with_graceful_shutdown(shutdown)
            .await
    };
    let sessions_end = move || sessions.cancel();
    server.run_until(Stop::signals(), sessions_end, serve).await
}
