//! A server with the tools, resources and prompts that the official conformance suite calls.
//!
//! ```text
//! conformance [--bare]
//! ```
//!
//! It serves streamable HTTP on a free port of 127.0.0.1, and prints its URL. `--bare` serves the
//! handler without this crate. `tests/conformance/run` compares the two.
#![expect(
    deprecated,
    reason = "the suite also speaks revisions that have logging and subscriptions"
)]

#[path = "conformance/asking.rs"]
mod asking;
#[path = "conformance/fixtures.rs"]
mod fixtures;
#[path = "conformance/interim.rs"]
mod interim;
#[path = "conformance/server.rs"]
mod server;
#[path = "conformance/subscriptions.rs"]
mod subscriptions;
#[path = "conformance/tools.rs"]
mod tools;

use axum::Router;
use mcp_resilience::{ResilienceLayer, rmcp::Resilient};
use rmcp::{
    ServerHandler,
    transport::{
        StreamableHttpServerConfig, StreamableHttpService,
        streamable_http_server::session::local::LocalSessionManager,
    },
};
use server::Conformance;
use std::{env, error::Error, io, sync::Arc};
use tokio::net::TcpListener;

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<_> = env::args().skip(1).collect();
    match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        [] => {
            let resilience = ResilienceLayer::builder().build()?;
            serve(Resilient::with_preset(Conformance::default(), &resilience)).await?;
        }
        ["--bare"] => serve(Conformance::default()).await?,
        _ => return Err("usage: conformance [--bare]".into()),
    }
    Ok(())
}

async fn serve<H: ServerHandler + Clone + Sync>(handler: H) -> io::Result<()> {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    eprintln!("http://{}/mcp", listener.local_addr()?);
    let service = StreamableHttpService::new(
        move || Ok(handler.clone()),
        Arc::new(LocalSessionManager::default()),
        StreamableHttpServerConfig::default(),
    );
    let router = Router::new().nest_service("/mcp", service);
    axum::serve(listener, router).await
}
