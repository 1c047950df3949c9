use crate::support::{Ledger, call, initialize, text, within};
use serde_json::{Value, json};
use std::time::Duration;
use tokio::{io::AsyncWriteExt, time::Instant};

#[tokio::test]
async fn a_good_call_has_its_effect_once_and_the_ledger_says_so() {
    let ledger = Ledger::new();
    let mut server = ledger.start(&[]);
    server.send(&initialize()).await;
    let answer = server.message().await;
    assert_eq!(answer["result"]["protocolVersion"], "2025-06-18");
    server
        .send(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}))
        .await;
    for (method, code) in [
        ("ping", None),
        ("server/discover", Some(-32601)),
        ("resources/read", Some(-32601)),
        ("prompts/get", Some(-32601)),
    ] {
        server
            .send(&json!({"jsonrpc": "2.0", "id": "x", "method": method}))
            .await;
        let answer = server.message().await;
        assert_eq!(answer["id"], "x");
        assert_eq!(answer["error"]["code"].as_i64(), code, "{method}");
    }
    let good = server.call(1, "k", Value::Null).await;
    assert_eq!(text(&good), "k ran 1 time(s)");
    let again = server.call(2, "k", json!({"kind": "none"})).await;
    assert_eq!(text(&again), "k ran 2 time(s)");
    assert_eq!(
        again["result"]["structuredContent"],
        json!({"executions": 2})
    );
    let cancelled = json!({"requestId": 2});
    server
        .send(&json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": cancelled}))
        .await;
    let ask = json!({"jsonrpc": "2.0", "id": 3, "method": "tools/call", "params": {"name": "pid"}});
    server.send(&ask).await;
    let pid = server.process.id().unwrap();
    assert_eq!(text(&server.message().await), pid.to_string());

    drop(server.stdin.take());
    assert_eq!(server.ended().await, (String::new(), Some(0)));
    let of_call =
        |event: &str, id: u32| json!({"event": event, "tool": "book", "key": "k", "id": id});
    let expected = [
        json!({"event": "started", "pid": pid}),
        json!({"event": "initialized"}),
        of_call("arrived", 1),
        of_call("executed", 1),
        of_call("arrived", 2),
        of_call("executed", 2),
        json!({"event": "cancelled", "id": 2}),
    ];
    assert_eq!(ledger.lines(), expected);
}

#[tokio::test]
async fn a_fault_before_the_effect_leaves_no_effect_and_happens_once() {
    let ledger = Ledger::new();
    let mut server = ledger.start(&[]);
    let refused = server
        .call(1, "a", json!({"kind": "refuse", "retry_after": 1.5}))
        .await;
    assert_eq!(refused["result"]["isError"], true);
    let envelope = json!({"code": "rate_limited", "error": "slow down", "retryAfter": 1.5});
    assert_eq!(refused["result"]["structuredContent"], envelope);
    let without_id = server.call(2, "b", json!({"kind": "error_no_id"})).await;
    assert_eq!(without_id["error"]["code"], -32000);
    assert_eq!(without_id.get("id"), None);
    let null_id = server.call(3, "c", json!({"kind": "error_null_id"})).await;
    assert_eq!(null_id["error"]["code"], -32000);
    assert_eq!(null_id["id"], Value::Null);
    server
        .send(&call(4, "d", json!({"kind": "hang_before"})))
        .await;

    for (key, kind) in [
        ("a", "refuse"),
        ("b", "error_no_id"),
        ("c", "error_null_id"),
        ("d", "hang_before"),
    ] {
        let good = server.call(5, key, json!({"kind": kind})).await;
        assert_eq!(text(&good), format!("{key} ran 1 time(s)"));
        assert_eq!(ledger.count("arrived", key), 2);
    }
}

#[tokio::test]
async fn a_fault_after_the_effect_leaves_the_effect() {
    let ledger = Ledger::new();
    let mut server = ledger.start(&[]);
    server.send(&call(1, "hang", json!({"kind": "hang"}))).await;
    let without_id = server.call(3, "no_id", json!({"kind": "no_id"})).await;
    assert_eq!(text(&without_id), "no_id ran 1 time(s)");
    assert_eq!(without_id.get("id"), None);
    let null_id = server.call(4, "null_id", json!({"kind": "null_id"})).await;
    assert_eq!(text(&null_id), "null_id ran 1 time(s)");
    assert_eq!(null_id["id"], Value::Null);
    let foreign = server
        .call(5, "foreign_id", json!({"kind": "foreign_id"}))
        .await;
    assert_eq!(text(&foreign), "foreign_id ran 1 time(s)");
    assert!(foreign["id"].as_u64().unwrap() > 5);
    let twice = server.call(6, "twice", json!({"kind": "twice"})).await;
    assert_eq!(twice["id"], 6);
    assert_eq!(server.message().await, twice);
    let wrong = server
        .call(7, "wrong_result", json!({"kind": "wrong_result"}))
        .await;
    assert!(wrong["result"].is_string(), "{wrong}");
    server
        .send(&call(8, "noise", json!({"kind": "noise"})))
        .await;
    for _ in 0..3 {
        let line = server.line().await;
        assert!(serde_json::from_str::<Value>(&line).is_err(), "{line}");
    }
    assert_eq!(server.message().await["id"], 8);
    // The hanging call has blocked no other.
    let begun = Instant::now();
    let late = json!({"kind": "late", "seconds": 0.3});
    let late = server.call(2, "late", late).await;
    assert_eq!(text(&late), "late ran 1 time(s)");
    assert!(begun.elapsed() >= Duration::from_millis(300));

    for line in ledger.lines() {
        if let Some(key) = line["key"].as_str() {
            assert_eq!(ledger.count("arrived", key), 1, "{key}");
            assert_eq!(ledger.count("executed", key), 1, "{key}");
        }
    }
}

#[tokio::test]
async fn a_death_leaves_what_was_done_and_the_bytes_that_were_written() {
    let ledger = Ledger::new();
    let whole = ledger.start(&[]).call(1, "byte", Value::Null).await;
    let whole = format!("{whole}\n").replace("1 time", "2 time");
    let mut ran = 1;
    for (fault, times, effect, bytes) in [
        (json!({"kind": "die_before"}), 2, 0, 0),
        (json!({"kind": "die_after"}), 3, 1, 0),
        (json!({"kind": "die_at_byte", "byte": 0}), 4, 1, 0),
        (json!({"kind": "die_at_byte", "byte": 17}), 5, 1, 17),
        // All but the end of the line.
        (
            json!({"kind": "die_at_byte", "byte": whole.len() - 1}),
            6,
            1,
            whole.len() - 1,
        ),
        (
            json!({"kind": "die_at_byte", "byte": 9999}),
            7,
            1,
            whole.len(),
        ),
    ] {
        let mut server = ledger.start(&[]);
        let mut message = call(1, "byte", fault.clone());
        message["params"]["arguments"]["times"] = json!(times);
        server.send(&message).await;
        let (written, code) = server.ended().await;
        assert_eq!(code, Some(9), "{fault}");
        ran += effect;
        assert_eq!(ledger.count("executed", "byte"), ran, "{fault}");
        let answer = whole.replace("2 time", &format!("{ran} time"));
        let answer = answer.replace("\"executions\":1", &format!("\"executions\":{ran}"));
        assert_eq!(written, answer[..bytes], "{fault}");
    }
    // The last fault was for seven arrivals, and restarts have not reset the count.
    let good = ledger
        .start(&[])
        .call(1, "byte", json!({"kind": "die_before"}))
        .await;
    assert_eq!(text(&good), "byte ran 7 time(s)");
}

#[tokio::test]
async fn an_unknown_fault_is_refused_and_leaves_no_line() {
    let ledger = Ledger::new();
    let mut server = ledger.start(&[]);
    let stdin = server.stdin.as_mut().unwrap();
    within("a line", stdin.write_all(b"hello\n")).await.unwrap();
    assert_eq!(server.message().await["error"]["code"], -32700);
    for (fault, word) in [
        (json!({"kind": "html"}), "HTTP only"),
        (json!({"kind": "drop_after"}), "HTTP only"),
        (json!({"kind": "status", "status": 503}), "HTTP only"),
        (json!({"kind": "explode"}), "unknown variant"),
        (json!({"kind": "late", "seconds": -1}), "negative"),
        (json!({"kind": "late", "second": 1}), "unknown field"),
    ] {
        let answer = server.call(1, "k", fault).await;
        assert_eq!(answer["error"]["code"], -32602);
        let message = answer["error"]["message"].as_str().unwrap();
        assert!(message.contains(word), "{message}");
    }
    assert_eq!(ledger.lines().len(), 1);
}
