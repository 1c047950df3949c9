//! An MCP server whose bookings are made once for each idempotency key.
//!
//! ```text
//! booking [--http ADDR] [--store memory|FILE|redis://…] [--ledger FILE] [--attempt-timeout SECONDS]
//! ```
//!
//! The effect of `book` is a line with its key in the ledger. Then it takes `seconds`, and answers with
//! the number of the booking. `fail` makes it fail. `bookings` lists the ledger. Two servers may share
//! a store in Redis and a ledger: kill one in the middle of a booking, and repeat the call with the
//! same key.
//!
//! The lease of a claim is as long as the attempt timeout. With a timeout of 2 s, a dead runner is
//! noticed after 2 s.

#[path = "booking/ticket.rs"]
mod ticket;

use clap::Parser;
use mcp_resilience::{
    ResilienceLayer,
    classify::silence_panics,
    fatal::{Fatal, startup::OrFatal},
    idempotency::{
        IdempotencyBuilder, IdempotencyLayer, MemoryStore,
        store::{RedbStore, RedisStore},
    },
    rmcp::{Resilient, ServerAnswer, ServerCall, Stop, stdio},
};
use rmcp::transport::{
    StreamableHttpServerConfig, StreamableHttpService,
    streamable_http_server::session::local::LocalSessionManager,
};
use std::{net::SocketAddr, path::PathBuf, sync::Arc, time::Duration};
use ticket::{Ledger, Office};
use tokio::net::TcpListener;
use tower::Service;

/// A ticket office that sells one seat for each key
#[derive(Debug, Parser)]
struct Options {
    /// Serve streamable HTTP at /mcp on this address, without sessions, instead of stdio
    #[arg(long, value_name = "ADDR")]
    http: Option<SocketAddr>,
    /// The store of outcomes: `memory`, a file, or the URL of a Redis server
    #[arg(long, value_name = "STORE", default_value = "memory")]
    store: String,
    /// The file of bookings. Default: a new temporary file
    #[arg(long, value_name = "FILE")]
    ledger: Option<PathBuf>,
    /// Timeout of an attempt and lease of its claim, in seconds. Default: 30
    #[arg(long, value_name = "SECONDS", value_parser = seconds, default_value = "30")]
    attempt_timeout: Duration,
}

fn seconds(text: &str) -> Result<Duration, String> {
    let seconds: f64 = text.parse().map_err(|error| format!("{error}"))?;
    Duration::try_from_secs_f64(seconds).map_err(|error| error.to_string())
}

#[tokio::main]
async fn main() {
    silence_panics();
    if let Err(fatal) = Box::pin(run(Options::parse())).await {
        fatal.exit();
    }
}

async fn run(options: Options) -> Result<(), Fatal> {
    let ledger = Ledger::open(options.ledger).or_fatal("cannot open the ledger")?;
    let idempotency = store(&options.store)
        .await?
        .lease(options.attempt_timeout)
        .build()
        .or_fatal("invalid settings")?;
    let resilience = ResilienceLayer::builder()
        .attempt_timeout(options.attempt_timeout)
        .idempotency(idempotency)
        .build()
        .or_fatal("invalid settings")?;
    let server = Resilient::with_preset(Office::new(ledger), &resilience);
    match options.http {
        None => Box::pin(server.run(stdio())).await,
        Some(address) => serve_http(server, address).await,
    }
}

async fn store(name: &str) -> Result<IdempotencyBuilder, Fatal> {
    if name == "memory" {
        return Ok(IdempotencyLayer::builder(MemoryStore::new()));
    }
    if name.starts_with("redis://") {
        let store = RedisStore::connect(name).await;
        return Ok(IdempotencyLayer::builder(
            store.or_fatal("cannot use the store")?,
        ));
    }
    let store = RedbStore::open(name).or_fatal("cannot use the store")?;
    Ok(IdempotencyLayer::builder(store))
}

async fn serve_http<S>(server: Resilient<Office, S>, address: SocketAddr) -> Result<(), Fatal>
where
    S: Service<ServerCall, Response = ServerAnswer, Error = mcp_resilience::Failure>
        + Clone
        + Send
        + Sync
        + 'static,
    S::Future: Send,
{
    let listener = TcpListener::bind(address)
        .await
        .or_fatal(format!("cannot listen on {address}"))?;
    let address = listener.local_addr().or_fatal("no local address")?;
    eprintln!("listening on http://{address}/mcp");
    // No sessions, so that any replica can answer a request.
    let config = StreamableHttpServerConfig::default()
        .with_legacy_session_mode(false)
        .with_json_response(true);
    let sessions = config.cancellation_token.clone();
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
