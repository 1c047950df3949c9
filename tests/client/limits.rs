//! One limit for an attempt.

use crate::support::{Log, MS, SECOND, Scripted, reconnect, scripted::events, within};
use axum::body::{Body, Bytes};
use mcp_resilience::{
    ResilienceLayer,
    call_log::CallLogLayer,
    retry::RetryLayer,
    rmcp::client::{Client, Http},
};
use rmcp::model::{CallToolRequestParams, CallToolResponse};
use serde_json::json;
use std::{convert::Infallible, sync::Arc, time::Duration};
use tokio::{sync::Semaphore, time::sleep};

/// A tool that answers once it may.
async fn slow(gate: &Arc<Semaphore>) -> Scripted {
    let gate = Arc::clone(gate);
    Scripted::start(move |seen, _| {
        let answer = json!({
            "jsonrpc": "2.0", "id": seen.message["id"],
            "result": {"content": [{"type": "text", "text": "done"}]},
        });
        let gate = Arc::clone(&gate);
        (seen.method() == "tools/call").then(|| {
            events(Body::from_stream(futures_util::stream::once(async move {
                gate.acquire().await.unwrap().forget();
                Ok::<_, Infallible>(Bytes::from(format!("data: {answer}\n\n")))
            })))
        })
    })
    .await
}

/// A call of a tool that takes so long.
async fn make(client: &Client, server: &Scripted, gate: &Semaphore, takes: Duration) -> bool {
    let running = tokio::spawn({
        let client = client.clone();
        async move { client.call_tool(CallToolRequestParams::new("book")).await }
    });
    within("the call at the server", async {
        while server.count("tools/call") == 0 {
            sleep(5 * MS).await;
        }
    })
    .await;
    // The clock jumps, and goes on as before: nothing waits for a socket in paused time.
    tokio::time::pause();
    tokio::time::advance(takes).await;
    tokio::time::resume();
    // The limit counts even if an answer arrives now.
    sleep(10 * MS).await;
    gate.add_permits(1);
    let answer = within("an answer", running).await.unwrap().unwrap();
    matches!(answer, CallToolResponse::Complete(result) if result.is_error != Some(true))
}

fn resilience(attempt: Duration, deadline: Duration) -> ResilienceLayer {
    let retry = RetryLayer::builder().deadline(deadline).build().unwrap();
    ResilienceLayer::builder()
        .retry(retry)
        .attempt_timeout(attempt)
        .log(CallLogLayer::new(Log::default()))
        .build()
        .unwrap()
}

async fn connect(connector: Http) -> Client {
    let client = Client::builder(connector)
        .resilience(resilience(90 * SECOND, 110 * SECOND))
        .reconnect(reconnect().build().unwrap());
    within("a connection", client.connect()).await.unwrap()
}

#[tokio::test]
async fn case_123_a_raised_attempt_timeout_is_the_only_limit() {
    let gate = Arc::new(Semaphore::new(0));
    let server = slow(&gate).await;
    let client = connect(Http::new(&*server.url)).await;
    assert!(make(&client, &server, &gate, 66 * SECOND).await);
}

#[tokio::test]
async fn a_limit_of_the_connector_strikes_if_it_was_set() {
    let gate = Arc::new(Semaphore::new(0));
    let server = slow(&gate).await;
    let client = connect(Http::new(&*server.url).call_timeout(40 * SECOND)).await;
    assert!(!make(&client, &server, &gate, 66 * SECOND).await);
}
