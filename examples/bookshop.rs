//! The Bookshop as a real MCP server, on the preset.
//!
//! ```text
//! bookshop [--http ADDR] [--catalog FILE] [--require-env NAME] [--attempt-timeout SECONDS]
//!          [--tool-timeout NAME=SECONDS]... [--grace SECONDS]
//! ```
//!
//! On stdio by default: stdout carries the protocol, stderr one JSON line for each call. SIGTERM,
//! SIGINT and SIGHUP end it in order, with exit code 0; a fatal failure ends it with exit code 1.

#[path = "call/tool_timeout.rs"]
mod tool_timeout;

mod shop;

use clap::{Parser, builder::NonEmptyStringValueParser};
use mcp_resilience::{
    ResilienceLayer,
    classify::hush_panics,
    fatal::{
        Fatal,
        startup::{self, OrFatal},
    },
    policy::{Policies, Policy},
    retry::RetryLayer,
    rmcp::{Resilient, Stop},
};
use rmcp::transport::{
    StreamableHttpServerConfig, StreamableHttpService, stdio,
    streamable_http_server::session::local::LocalSessionManager,
};
use shop::{Bookshop, Catalog};
use std::{net::SocketAddr, path::PathBuf, sync::Arc, time::Duration};
use tokio::net::TcpListener;
use tool_timeout::ToolTimeout;

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
    #[arg(long, value_name = "NAME", value_parser = NonEmptyStringValueParser::new())]
    require_env: Option<String>,
    /// The longest that one attempt of a call may take without progress: 10 minutes, unless given.
    /// Further attempts begin within 55 s, or twice as long as that, if it is more.
    #[arg(long, value_name = "SECONDS", value_parser = seconds)]
    attempt_timeout: Option<Duration>,
    /// The same for one tool; may be given again for others, and the last one counts.
    #[arg(long, value_name = "NAME=SECONDS")]
    tool_timeout: Vec<ToolTimeout>,
    /// How long running calls may still take after a signal or a fatal failure: 10 s, unless given.
    #[arg(long, value_name = "SECONDS", value_parser = seconds)]
    grace: Option<Duration>,
}

/// Leaves room for a second attempt of that length.
fn window(limit: Duration) -> Duration {
    limit.saturating_mul(2).max(Duration::from_secs(55))
}

fn seconds(text: &str) -> Result<Duration, String> {
    let seconds: f64 = text.parse().map_err(|error| format!("{error}"))?;
    Duration::try_from_secs_f64(seconds).map_err(|error| error.to_string())
}

#[tokio::main]
async fn main() {
    // stderr is the log's: the panics of tools are in it.
    hush_panics();
    if let Err(fatal) = Box::pin(run(Options::parse())).await {
        // Not by returning: if nobody reads stderr, printing the reason could block for ever.
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
    let mut policies = Policies::new();
    for tool in options.tool_timeout {
        let policy = Policy::new()
            .attempt_timeout(tool.limit)
            .retry_window(window(tool.limit));
        policies = policies.tool(tool.name, policy);
    }
    let mut resilience = ResilienceLayer::builder().policies(policies);
    if let Some(limit) = options.attempt_timeout {
        let retry = RetryLayer::builder().retry_window(window(limit));
        resilience = resilience
            .attempt_timeout(limit)
            .retry(retry.build().or_fatal("bad settings")?);
    }
    let resilience = resilience.build().or_fatal("bad settings")?;
    let mut server = Resilient::with_preset(Bookshop::new(catalog), &resilience);
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
    // One server for all sessions: its clones share the budget, the log and the end.
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
