//! A client that no longer wants an answer, or is gone.

use crate::support::{Desk, Log, Run, assert_has, call, connect, ok, preset, settings, text};
use mcp_resilience::{Failure, policy::Policy, retry::RetryLayer, rmcp::Resilient};
use rmcp::{
    model::{CallToolRequest, ClientRequest},
    service::{PeerRequestOptions, RequestHandle, RoleClient, RunningService},
};
use serde_json::json;
use std::{sync::Arc, time::Duration};
use tokio::{sync::Notify, time::Instant};

/// Begins a call that can be cancelled.
async fn begin(
    client: &RunningService<RoleClient, ()>,
    tool: &'static str,
) -> RequestHandle<RoleClient> {
    let request = ClientRequest::CallToolRequest(CallToolRequest::new(call(tool)));
    let options = PeerRequestOptions::no_options();
    let begun = client.send_cancellable_request(request, options).await;
    begun.unwrap()
}

/// Until everything that is due at this moment has been done.
async fn settle() {
    tokio::time::sleep(Duration::from_millis(1)).await;
}

#[tokio::test(start_paused = true)]
async fn cancelled_in_a_wait_a_call_ends_at_once_and_is_not_made_again() {
    let desk = Desk::new(|_| async {
        Err(Failure::rate_limited(Some(Duration::from_secs(600)))
            .before_running()
            .into())
    });
    let attempts = desk.attempts();
    let log = Log::default();
    let patient = RetryLayer::builder()
        .policy(Policy::new().no_retry_window())
        .max_retry_after(Duration::from_secs(3600))
        .build()
        .unwrap();
    let preset = settings(&log).retry(patient).build().unwrap();
    let client = connect(Resilient::with_preset(desk, &preset), ()).await;

    let handle = begin(&client, "quote").await;
    tokio::time::sleep(Duration::from_secs(100)).await;
    assert_eq!(log.all(), [json!(null); 0], "it waits");
    handle.cancel(None).await.unwrap();
    settle().await;

    let line = log.only();
    assert_has(&line, &json!({"outcome": "cancelled", "attempts": 1}));
    let latency = line["latency_ms"].as_u64().unwrap();
    assert!((100_000..100_100).contains(&latency), "{latency} ms");
    tokio::time::sleep(Duration::from_secs(3600)).await;
    assert_eq!(attempts.so_far(), [1], "no further attempt");
    assert_eq!(log.all().len(), 1, "no further line");
}

#[tokio::test(start_paused = true)]
async fn cancelled_in_an_attempt_a_call_drops_the_handler_and_cancels_its_token() {
    let noticed = Arc::new(Notify::new());
    let desk = Desk::new({
        let noticed = Arc::clone(&noticed);
        move |run: Run| {
            let noticed = Arc::clone(&noticed);
            async move {
                let ct = run.context.ct.clone();
                tokio::spawn(async move {
                    ct.cancelled().await;
                    noticed.notify_one();
                });
                tokio::time::sleep(Duration::from_secs(4)).await;
                panic!("it goes on though nobody waits for it");
            }
        }
    });
    let log = Log::default();
    let client = connect(Resilient::with_preset(desk, &preset(&log)), ()).await;

    let handle = begin(&client, "slow").await;
    tokio::time::sleep(Duration::from_secs(1)).await;
    let begun = Instant::now();
    handle
        .cancel(Some("changed its mind".to_owned()))
        .await
        .unwrap();
    noticed.notified().await;
    settle().await;
    assert!(begun.elapsed() < Duration::from_millis(100));
    assert_has(&log.only(), &json!({"outcome": "cancelled", "class": null}));

    tokio::time::sleep(Duration::from_secs(60)).await;
    // A panic would have left another line.
    assert_eq!(log.all().len(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_caller_that_drops_its_call_cancels_it() {
    let desk = Desk::new(|_| async {
        tokio::time::sleep(Duration::from_secs(4)).await;
        ok("too late")
    });
    let log = Log::default();
    let client = connect(Resilient::with_preset(desk, &preset(&log)), ()).await;

    let calling = client.call_tool(call("slow"));
    let gave_up = tokio::time::timeout(Duration::from_secs(1), calling).await;
    assert!(gave_up.is_err());
    settle().await;
    assert_has(&log.only(), &json!({"outcome": "cancelled"}));
}

#[tokio::test(start_paused = true)]
async fn the_cancellation_of_one_call_leaves_the_others_alone() {
    let desk = Desk::new(|_| async {
        tokio::time::sleep(Duration::from_secs(2)).await;
        ok("in time")
    });
    let log = Log::default();
    let client = connect(Resilient::with_preset(desk, &preset(&log)), ()).await;

    let first = begin(&client, "slow").await;
    let second = client.call_tool(call("slow"));
    let (cancelled, answer) = tokio::join!(first.cancel(None), second);
    cancelled.unwrap();
    assert_eq!(text(&answer.unwrap()), "in time");
    let outcomes: Vec<_> = log.all().iter().map(|l| l["outcome"].clone()).collect();
    assert_eq!(outcomes, ["cancelled", "success"]);
}

#[tokio::test(start_paused = true)]
async fn a_client_that_leaves_ends_its_calls() {
    let desk = Desk::new(|_| async {
        Err(Failure::rate_limited(Some(Duration::from_secs(50)))
            .before_running()
            .into())
    });
    let attempts = desk.attempts();
    let log = Log::default();
    let client = connect(Resilient::with_preset(desk, &preset(&log)), ()).await;

    let handle = begin(&client, "quote").await;
    tokio::time::sleep(Duration::from_secs(1)).await;
    client.cancel().await.unwrap();
    // rmcp leaves the calls that are running a few seconds to answer.
    tokio::time::sleep(Duration::from_secs(10)).await;
    assert_has(&log.only(), &json!({"outcome": "cancelled", "attempts": 1}));
    tokio::time::sleep(Duration::from_secs(600)).await;
    assert_eq!(attempts.so_far(), [1]);
    drop(handle);
}
