//! The circuit breaker of `tower-resilience` in the stack. It opens when the service behind the
//! tools fails, and not for errors of a tool itself.
//!
//! ```text
//! cargo run --example breaker
//! ```
//!
//! A real rmcp client and a wrapped server, over a pipe in memory.
#![expect(
    clippy::print_stdout,
    reason = "no protocol runs over stdout here: it is for whoever looks on"
)]

use mcp_resilience::{
    Delivery, Failure, ResilienceLayer,
    call_log::CallLogLayer,
    classify::ClassifyLayer,
    retry::RetryLayer,
    rmcp::{Resilient, ServerAnswer},
};
use rmcp::{
    ErrorData, RoleServer, ServerHandler, ServiceExt,
    model::{
        CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, ServerCapabilities,
        ServerConfig,
    },
    service::{RequestContext, RunningService},
};
use std::{
    error::Error,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU32, Ordering},
    },
    time::Duration,
};
use tower::util::MapErrLayer;
use tower_resilience_circuitbreaker::{CircuitBreakerError, CircuitBreakerLayer};

/// How long the circuit stays open.
const OPEN: Duration = Duration::from_millis(300);

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let weather = Arc::new(Weather::default());
    let classify = ClassifyLayer::new();
    let breaker = CircuitBreakerLayer::builder()
        .consecutive_failures(3)
        .wait_duration_in_open(OPEN)
        .permitted_calls_in_half_open(1)
        .on_state_transition(|from, to| println!("    the circuit      {from:?} -> {to:?}"))
        // Errors of a tool are about its call. Only failures of the server count.
        .failure_classifier(|outcome: &Result<ServerAnswer, Failure>| {
            let failure = outcome.as_ref().err();
            failure.is_some_and(Failure::speaks_against_server)
        })
        .build()?;
    let preset = ResilienceLayer::builder()
        .classify(classify.clone())
        // One attempt only, so that each call shows its result.
        .retry(RetryLayer::builder().max_attempts(1).build()?)
        .log(CallLogLayer::off())
        .layer_inside(MapErrLayer::new(to_failure))
        .layer_inside(breaker)
        .layer_inside(classify.inside())
        .build()?;

    let server = Resilient::with_preset(Shared(Arc::clone(&weather)), &preset);
    let (server_end, client_end) = tokio::io::duplex(64 * 1024);
    let server = tokio::spawn(server.run(server_end));
    let client = ().serve(client_end).await?;

    println!("--- Five errors of the tool itself: the server is well");
    for _ in 0..5 {
        call(&client, "no_such_city").await?;
    }
    println!("--- The service behind the tools goes away: the third failure opens the circuit");
    weather.is_away.store(true, Ordering::SeqCst);
    for _ in 0..5 {
        call(&client, "weather").await?;
    }
    println!("--- After a while one call may try, and fails");
    tokio::time::sleep(OPEN + OPEN / 2).await;
    call(&client, "weather").await?;
    println!("--- The service is back: the next try closes the circuit");
    weather.is_away.store(false, Ordering::SeqCst);
    tokio::time::sleep(OPEN + OPEN / 2).await;
    call(&client, "weather").await?;
    let runs = weather.runs.load(Ordering::SeqCst);
    println!("\n12 calls, of which {runs} reached the tools.");

    client.cancel().await?;
    server.await??;
    Ok(())
}

/// A call at an open circuit is refused and not sent. Other errors pass unchanged.
fn to_failure(error: CircuitBreakerError<Failure>) -> Failure {
    error.into_inner().unwrap_or_else(|| {
        let open = Failure::unavailable(Some(OPEN)).with_message("the circuit is open");
        open.with_delivery(Delivery::NotSent)
    })
}

async fn call(
    client: &RunningService<rmcp::RoleClient, ()>,
    tool: &'static str,
) -> Result<(), Box<dyn Error>> {
    let result = client.call_tool(CallToolRequestParams::new(tool)).await?;
    for text in result.content.iter().filter_map(ContentBlock::as_text) {
        println!("    the model sees   {}", text.text);
    }
    Ok(())
}

#[derive(Default)]
struct Weather {
    is_away: AtomicBool,
    runs: AtomicU32,
}

struct Shared(Arc<Weather>);

impl ServerHandler for Shared {
    fn get_info(&self) -> ServerConfig {
        ServerConfig::new(ServerCapabilities::builder().enable_tools().build())
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        self.0.runs.fetch_add(1, Ordering::SeqCst);
        if request.name == "no_such_city" {
            return Err(Failure::not_found("There is no such city.").into());
        }
        if self.0.is_away.load(Ordering::SeqCst) {
            return Err(Failure::unavailable(None).into());
        }
        Ok(CallToolResult::success(vec![ContentBlock::text("It is warm.")]).into())
    }
}
