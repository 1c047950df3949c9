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
use std::{convert::Infallible, time::Duration};
use tokio::time::{Instant, sleep};

/// A tool that answers after so long.
async fn slow(takes: Duration) -> Scripted {
    Scripted::start(move |seen, _| {
        let answer = json!({
            "jsonrpc": "2.0", "id": seen.message["id"],
            "result": {"content": [{"type": "text", "text": "done"}]},
        });
        (seen.method() == "tools/call").then(|| {
            events(Body::from_stream(futures_util::stream::once(async move {
                sleep(takes).await;
                Ok::<_, Infallible>(Bytes::from(format!("data: {answer}\n\n")))
            })))
        })
    })
    .await
}

/// Makes the call in paused time, and gives how long it took.
async fn make(server: &Scripted, client: &Client) -> (CallToolResponse, Duration) {
    let begun = Instant::now();
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
    // Only now: sockets do not wait for a clock that runs ahead.
    tokio::time::pause();
    let answer = running.await.unwrap().unwrap();
    tokio::time::resume();
    (answer, begun.elapsed())
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

fn is_good(answer: &CallToolResponse) -> bool {
    matches!(answer, CallToolResponse::Complete(result) if result.is_error != Some(true))
}

#[tokio::test]
async fn case_123_a_raised_attempt_timeout_is_the_only_limit() {
    let server = slow(66 * SECOND).await;
    let client = connect(Http::new(&*server.url)).await;
    let (answer, took) = make(&server, &client).await;
    assert!(is_good(&answer), "{answer:?}");
    assert!(took >= 66 * SECOND, "{took:?}");
}

#[tokio::test]
async fn a_limit_of_the_connector_strikes_if_it_was_set() {
    let server = slow(66 * SECOND).await;
    let client = connect(Http::new(&*server.url).call_timeout(40 * SECOND)).await;
    let (answer, took) = make(&server, &client).await;
    assert!(!is_good(&answer), "{answer:?}");
    assert!(took >= 40 * SECOND && took < 66 * SECOND, "{took:?}");
}
