//! Which calls are repeated, when, and which are not.

use crate::support::{Bookshop, Wire, assert_has, over_both_wires};
use serde_json::{Value, json};
use std::time::Duration;
use tokio::time::Instant;

over_both_wires! {
    refusals_are_waited_out_and_never_cut_short
    a_refusal_too_many_is_the_envelope_as_the_tool_made_it
    a_reservation_is_repeated_only_where_it_provably_did_not_run
}

/// The waits before the repeats, as the log has them.
fn waits(line: &Value) -> Vec<u64> {
    let retries = line["retries"].as_array().unwrap();
    let waits = retries.iter().map(|retry| retry["wait_ms"].as_u64());
    waits.map(Option::unwrap).collect()
}

async fn refusals_are_waited_out_and_never_cut_short(wire: Wire) {
    let mut shop = Bookshop::open(wire, &[]).await;
    let begun = Instant::now();
    let arguments = json!({"title": "Dune", "refusals": 2, "retry_after": 0.4});
    let done = shop.call("quote_price", arguments.clone()).await;
    let elapsed = begun.elapsed();

    let price = json!({"title": "Dune", "price": "12.50"});
    assert_eq!(done.result()["structuredContent"], price);
    assert_ne!(done.result()["isError"], true);
    assert!(elapsed >= Duration::from_millis(800), "{elapsed:?}");
    let wanted = json!({
        "level": "WARN", "tool": "quote_price", "arguments": arguments,
        "outcome": "success", "is_error": false, "retried": true, "attempts": 3,
        "class": null, "error": null,
    });
    assert_has(&done.line, &wanted);
    let waits = waits(&done.line);
    assert_eq!(waits.len(), 2);
    assert!(waits.iter().all(|wait| *wait >= 400), "{waits:?}");
    for retry in done.line["retries"].as_array().unwrap() {
        let wanted = json!({"class": "rate_limited", "code": "rate_limited"});
        assert_has(retry, &wanted);
    }
    let paused = done.line["waited_ms"].as_u64().unwrap();
    let latency = done.line["latency_ms"].as_u64().unwrap();
    assert!(paused >= 800 && latency >= paused, "{paused} of {latency}");
    shop.leave().await;
}

async fn a_refusal_too_many_is_the_envelope_as_the_tool_made_it(wire: Wire) {
    let mut shop = Bookshop::open(wire, &[]).await;
    let begun = Instant::now();
    let arguments = json!({"title": "Dune", "refusals": 3, "retry_after": 0.25});
    let done = shop.call("quote_price", arguments).await;
    let elapsed = begun.elapsed();

    let envelope = json!({
        "service": "single",
        "code": "rate_limited",
        "error": "Rate limit exceeded",
        "status": 429,
        "retryAfter": 0.25,
        "current": {"concurrency": 1, "rpm": 61},
        "limits": {"maxConcurrency": 5, "maxRpm": 60},
    });
    let result = json!({
        "content": [{"type": "text", "text": envelope.to_string()}],
        "structuredContent": envelope,
        "isError": true,
    });
    assert_eq!(done.result(), &result);
    assert!(elapsed >= Duration::from_millis(500), "{elapsed:?}");
    let wanted = json!({
        "level": "WARN", "outcome": "failed", "is_error": true, "retried": true, "attempts": 3,
        "class": "rate_limited", "code": "rate_limited", "delivery": "unknown",
        "retry_after_ms": 250, "retry_stopped": "attempts", "error": "Rate limit exceeded",
    });
    assert_has(&done.line, &wanted);
    assert_eq!(waits(&done.line).len(), 2, "none after the last attempt");
    shop.leave().await;
}

async fn a_reservation_is_repeated_only_where_it_provably_did_not_run(wire: Wire) {
    let mut shop = Bookshop::open(wire, &[]).await;
    let reserve = |fail: &str| json!({"title": "Dune", "fail": fail});
    let counted = |count: u32| format!("Reserved. Reservations so far: {count}");
    let done = shop.call("reserve", reserve("none")).await;
    assert_eq!(done.text(), counted(1));

    let mut count = 1;
    for (fail, class) in [("timeout", "timeout"), ("lost", "connection")] {
        let done = shop.call("reserve", reserve(fail)).await;

        assert_eq!(done.result()["isError"], true);
        let text = done.text();
        assert!(text.starts_with("Error executing tool reserve: "), "{text}");
        assert!(
            text.contains("may have run; verify before repeating"),
            "{text}"
        );
        let envelope = json!({"code": class, "retryable": false, "attempts": 1});
        assert_has(&done.result()["structuredContent"], &envelope);
        let wanted = json!({
            "level": "WARN", "outcome": "failed", "is_error": true, "retried": false,
            "attempts": 1, "class": class, "delivery": "unknown",
            "retry_stopped": "may_have_run", "retries": null,
        });
        assert_has(&done.line, &wanted);

        // It ran once, and only once: the next one is the next but one.
        let done = shop.call("reserve", reserve("none")).await;
        count += 2;
        assert_eq!(done.text(), counted(count), "after {fail}");
    }

    let done = shop.call("reserve", reserve("refused")).await;
    assert_eq!(done.text(), counted(count + 1), "refused before it counted");
    assert_ne!(done.result()["isError"], true);
    let wanted = json!({
        "level": "WARN", "outcome": "success", "retried": true, "attempts": 2,
    });
    assert_has(&done.line, &wanted);
    assert_eq!(done.line["retries"][0]["class"], "at_capacity");
    let done = shop.call("reserve", reserve("none")).await;
    assert_eq!(done.text(), counted(count + 2));
    shop.leave().await;
}
