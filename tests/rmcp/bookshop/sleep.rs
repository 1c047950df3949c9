//! Calls that take too long, for the stack or for their client.

use crate::support::{Bookshop, Wire, assert_has, over_both_wires};
use serde_json::json;
use std::time::Duration;
use tokio::time::Instant;

over_both_wires! {
    a_sleep_within_the_limit_is_a_success
    a_sleep_past_the_attempt_timeout_is_flagged_as_a_timeout
    an_attempt_timeout_past_the_retry_window_raises_it
    a_sleep_that_its_client_cancels_ends_at_once
    a_wait_that_its_client_cancels_ends_at_once
}

/// Longer than any test may take.
const VERY_LONG: u64 = 600;

async fn a_sleep_within_the_limit_is_a_success(wire: Wire) {
    let mut shop = Bookshop::open(wire, &[]).await;
    let begun = Instant::now();
    let done = shop.call("sleep", json!({"seconds": 0.2})).await;
    assert!(begun.elapsed() >= Duration::from_millis(200));
    assert_eq!(done.text(), "Slept for 0.2 s.");
    let wanted = json!({"level": "INFO", "outcome": "success", "attempts": 1});
    assert_has(&done.line, &wanted);
    shop.leave().await;
}

async fn a_sleep_past_the_attempt_timeout_is_flagged_as_a_timeout(wire: Wire) {
    let mut shop = Bookshop::open(wire, &["--attempt-timeout", "0.2"]).await;
    let begun = Instant::now();
    let done = shop.call("sleep", json!({"seconds": VERY_LONG})).await;
    let elapsed = begun.elapsed();

    assert_eq!(done.result()["isError"], true);
    let text = done.text();
    assert!(text.starts_with("Error executing tool sleep: "), "{text}");
    let envelope = json!({"code": "timeout", "attempts": 3});
    assert_has(&done.result()["structuredContent"], &envelope);
    let wanted = json!({
        "level": "WARN", "tool": "sleep", "outcome": "failed", "is_error": true,
        "class": "timeout", "delivery": "unknown",
        // The tool is read-only, so a lost attempt may be repeated.
        "retried": true, "attempts": 3,
    });
    assert_has(&done.line, &wanted);
    assert!(elapsed >= Duration::from_millis(600), "{elapsed:?}");
    shop.leave().await;
}

async fn an_attempt_timeout_past_the_retry_window_raises_it(wire: Wire) {
    // More than a call may take, and less than twice the attempt's timeout.
    let arguments = json!({"title": "Dune", "refusals": 1, "retry_after": 100});
    let mut shop = Bookshop::open(wire, &[]).await;
    let done = shop.call("quote_price", arguments.clone()).await;
    let wanted =
        json!({"attempts": 1, "retry_stopped": "hint_too_long", "retry_after_ms": 100_000});
    assert_has(&done.line, &wanted);
    shop.leave().await;

    let mut shop = Bookshop::open(wire, &["--attempt-timeout", "120"]).await;
    let id = shop.begin("quote_price", arguments).await;
    tokio::time::sleep(Duration::from_millis(200)).await;
    assert!(!shop.has_line(id), "it waits");
    let cancelled = json!({"requestId": id});
    shop.notify("notifications/cancelled", &cancelled).await;
    assert_has(
        &shop.line(id).await,
        &json!({"outcome": "cancelled", "attempts": 1}),
    );
    shop.leave().await;
}

async fn a_sleep_that_its_client_cancels_ends_at_once(wire: Wire) {
    let mut shop = Bookshop::open(wire, &["--attempt-timeout", "900"]).await;
    let id = shop.begin("sleep", json!({"seconds": 50})).await;
    tokio::time::sleep(Duration::from_millis(200)).await;
    assert!(!shop.has_line(id), "it still sleeps");

    let cancelled = json!({"requestId": id, "reason": "changed its mind"});
    shop.notify("notifications/cancelled", &cancelled).await;
    let line = shop.line(id).await;

    let wanted = json!({
        "level": "INFO", "tool": "sleep", "arguments": {"seconds": 50},
        "outcome": "cancelled", "is_error": null, "retried": false, "attempts": 1,
    });
    assert_has(&line, &wanted);
    let latency = line["latency_ms"].as_u64().unwrap();
    assert!((200..50_000).contains(&latency), "{latency} ms of 50 s");
    // The others go on.
    let done = shop.call("get_author", json!({"title": "Dune"})).await;
    assert_eq!(done.text(), "Frank Herbert");
    shop.leave().await;
}

async fn a_wait_that_its_client_cancels_ends_at_once(wire: Wire) {
    let mut shop = Bookshop::open(wire, &[]).await;
    let arguments = json!({"title": "Dune", "refusals": 1, "retry_after": 30});
    let id = shop.begin("quote_price", arguments).await;
    tokio::time::sleep(Duration::from_millis(200)).await;
    assert!(!shop.has_line(id), "it still waits");

    let cancelled = json!({"requestId": id});
    shop.notify("notifications/cancelled", &cancelled).await;
    let line = shop.line(id).await;

    let wanted = json!({"outcome": "cancelled", "attempts": 1, "retried": false});
    assert_has(&line, &wanted);
    let latency = line["latency_ms"].as_u64().unwrap();
    assert!((200..30_000).contains(&latency), "{latency} ms of 30 s");
    shop.leave().await;
}
