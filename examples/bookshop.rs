//! The Bookshop as a real MCP server, on the preset.
//!
//! ```text
//! bookshop [--http ADDR] [--catalog FILE] [--require-env NAME] [--attempt-timeout SECONDS]
//! ```
//!
//! On stdio by default: stdout carries the protocol, stderr one JSON line for each call.

mod shop;

use clap::Parser;
use mcp_resilience::{
    ResilienceLayer,
    fatal::{
        Fatal,
        startup::{self, OrFatal},
    },
    rmcp::Resilient,
};
use rmcp::transport::{
    StreamableHttpServerConfig, StreamableHttpService, stdio,
    streamable_http_server::session::local::LocalSessionManager,
};
use shop::{Bookshop, Catalog};
use std::{net::SocketAddr, path::PathBuf, sync::Arc, time::Duration};
use tokio::net::TcpListener;

/// How long calls that run may still take when the server ends.
const GRACE: Duration = Duration::from_secs(2);

/// How long their answers may take to leave.
const LEAVE: Duration = Duration::from_millis(200);

/// A bookshop that fails in every way, and never silently.
#[derive(Debug, Parser)]
struct Options {
    /// Serve streamable HTTP at /mcp on this address, instead of stdio.
    #[arg(long, value_name = "ADDR")]
    http: Option<SocketAddr>,
    /// Read the catalog, a JSON object of titles and authors, from a file.
    #[arg(long, value_name = "FILE")]
    catalog: Option<PathBuf>,
    /// Refuse to start without this environment variable.
    #[arg(long, value_name = "NAME")]
    require_env: Option<String>,
    /// The longest that one attempt of a call may take.
    #[arg(long, value_name = "SECONDS", value_parser = seconds)]
    attempt_timeout: Option<Duration>,
}

fn seconds(text: &str) -> Result<Duration, String> {
    let seconds: f64 = text.parse().map_err(|error| format!("{error}"))?;
    Duration::try_from_secs_f64(seconds).map_err(|error| error.to_string())
}

#[tokio::main]
async fn main() {
    if let Err(fatal) = Box::pin(run(Options::parse())).await {
        // Not by returning: the thread that reads stdin would keep the process alive.
        fatal.exit();
    }
}

async fn run(options: Options) -> Result<(), Fatal> {
    if let Some(name) = &options.require_env {
        startup::env(name)?;
    }
    let catalog = match &options.catalog {
        Some(path) => Catalog::read(path)?,
        None => Catalog::embedded(),
    };
    let mut resilience = ResilienceLayer::builder();
    if let Some(limit) = options.attempt_timeout {
        resilience = resilience.attempt_timeout(limit);
    }
    let resilience = resilience.build().or_fatal("bad settings")?;
    let server = Resilient::with_preset(Bookshop::new(catalog), &resilience);
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
    let sessions_end = config.cancellation_token.clone();
    let fatal = server.fatal_handle().cloned().or_fatal("no preset")?;
    let ending = server.clone();
    // One server for all sessions: its clones share the budget, the log and the end.
    let service = StreamableHttpService::new(
        move || Ok(server.clone()),
        Arc::new(LocalSessionManager::default()),
        config,
    );
    let router = axum::Router::new().nest_service("/mcp", service);
    let ended = fatal.clone();
    let serving = axum::serve(listener, router).with_graceful_shutdown(async move {
        tokio::select! {
            _ = ended.wait() => {}
            _ = tokio::signal::ctrl_c() => {}
        }
        // What runs may end, and its answer leave: rmcp does not tell when it has.
        ending.drain(GRACE).await;
        tokio::time::sleep(LEAVE).await;
        // Sessions with an open stream would hold it up for ever.
        sessions_end.cancel();
    });
    let cause = async {
        let cause = fatal.wait().await;
        tokio::time::sleep(2 * GRACE).await;
        cause
    };
    tokio::select! {
        outcome = serving => match fatal.cause() {
            Some(cause) => Err(cause),
            None => outcome.or_fatal("cannot serve"),
        },
        cause = cause => Err(cause),
    }
}
