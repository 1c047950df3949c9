use crate::support::{Http, Ledger, call, initialize, request, within};
use serde_json::{Value, json};
use std::io::ErrorKind;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
};

fn starts_with(response: &str, start: &str) {
    assert!(response.starts_with(start), "{response}");
}

fn body(response: &str) -> &str {
    response.split_once("\r\n\r\n").unwrap().1
}

#[tokio::test]
async fn a_call_is_answered_in_a_session_by_an_event_or_a_body() {
    let ledger = Ledger::new();
    let (_server, http) = ledger.start_http(&[]).await;
    let session = http.session().await;
    let streamed = http.call(&session, "k", Value::Null).await;
    starts_with(&streamed, "HTTP/1.1 200 ");
    assert!(streamed.contains("Content-Type: text/event-stream"));
    assert!(streamed.contains("event: message\ndata: {"));
    assert!(streamed.contains("k ran 1 time(s)"));
    assert!(streamed.ends_with("\r\n0\r\n\r\n"));
    let discover = json!({"jsonrpc": "2.0", "id": 9, "method": "server/discover"});
    let discovered = http.post(None, &discover).await;
    starts_with(&discovered, "HTTP/1.1 200 ");
    let discovered: Value = serde_json::from_str(body(&discovered)).unwrap();
    assert_eq!(
        (&discovered["error"]["code"], &discovered["id"]),
        (&json!(-32601), &json!(9))
    );
    let notice = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
    starts_with(&http.post(Some(&session), &notice).await, "HTTP/1.1 202 ");
    starts_with(
        &within("405", http.ask("GET", Some(&session), ""))
            .await
            .unwrap(),
        "HTTP/1.1 405 ",
    );

    let (_server, http) = ledger.start_http(&["--answer", "json"]).await;
    let session = http.session().await;
    let plain = http.call(&session, "k", Value::Null).await;
    assert!(plain.contains("Content-Type: application/json"));
    let plain: Value = serde_json::from_str(body(&plain)).unwrap();
    assert_eq!(plain["result"]["structuredContent"]["executions"], 2);
}

#[tokio::test]
async fn sessions_are_asked_for_and_forgotten() {
    let ledger = Ledger::new();
    let (_server, http) = ledger.start_http(&[]).await;
    let session = http.session().await;
    starts_with(
        &http.post(None, &call(1, "k", Value::Null)).await,
        "HTTP/1.1 400 ",
    );
    starts_with(
        &http.call("nobody's", "k", Value::Null).await,
        "HTTP/1.1 404 ",
    );
    let delete = || http.ask("DELETE", Some(&session), "");
    starts_with(&within("200", delete()).await.unwrap(), "HTTP/1.1 200 ");
    starts_with(&within("404", delete()).await.unwrap(), "HTTP/1.1 404 ");
    starts_with(
        &http.call(&session, "k", Value::Null).await,
        "HTTP/1.1 404 ",
    );
    assert_eq!(ledger.lines()[1..], [json!({"event": "deleted"})]);

    let (_server, http) = ledger.start_http(&["--stale-400"]).await;
    let stale = http.call("nobody's", "k", Value::Null).await;
    starts_with(&stale, "HTTP/1.1 400 ");
    let error: Value = serde_json::from_str(body(&stale)).unwrap();
    assert_eq!(error["error"]["code"], -32000);
    assert_eq!(error.get("id"), None);
}

#[tokio::test]
async fn a_status_comes_before_or_after_the_effect_as_it_was_asked_for() {
    let ledger = Ledger::new();
    let (_server, http) = ledger.start_http(&[]).await;
    for (fault, status, effects, forgets) in [
        (json!({"kind": "not_found"}), 404, 0, true),
        (json!({"kind": "not_found_after"}), 404, 1, true),
        (json!({"kind": "stale"}), 400, 0, true),
        (json!({"kind": "status", "status": 503}), 503, 0, false),
        (
            json!({"kind": "status", "status": 500, "after": true}),
            500,
            1,
            false,
        ),
        (json!({"kind": "html"}), 200, 0, false),
        (json!({"kind": "html", "after": true}), 200, 1, false),
    ] {
        let session = http.session().await;
        let key = fault.to_string();
        let response = http.call(&session, &key, fault).await;
        starts_with(&response, &format!("HTTP/1.1 {status} "));
        assert_eq!(response.contains("text/html"), key.contains("html"));
        assert_eq!(ledger.count("executed", &key), effects, "{key}");
        let then = http.call(&session, "then", Value::Null).await;
        assert_eq!(then.starts_with("HTTP/1.1 404 "), forgets, "{key}: {then}");
    }

    let session = http.session().await;
    let date = "Fri, 31 Dec 1999 23:59:59 GMT";
    for (hint, in_data) in [("7", json!(7)), (date, json!(date))] {
        let fault = json!({
            "kind": "status", "status": 401, "retry_after": hint, "rpc": true, "authenticate": "Basic",
        });
        let response = http.call(&session, hint, fault).await;
        starts_with(&response, "HTTP/1.1 401 ");
        assert!(response.contains(&format!("\r\nRetry-After: {hint}\r\n")));
        assert!(response.contains("\r\nWWW-Authenticate: Basic\r\n"));
        let error: Value = serde_json::from_str(body(&response)).unwrap();
        assert_eq!(error["id"], 1);
        assert_eq!(error["error"]["data"]["retryAfter"], in_data);
    }
}

#[tokio::test]
async fn answers_are_cut_and_connections_dropped() {
    let ledger = Ledger::new();
    let (_server, http) = ledger.start_http(&[]).await;
    let session = http.session().await;
    let cut = http
        .call(&session, "cut", json!({"kind": "cut_body", "byte": 5}))
        .await;
    assert_eq!(body(&cut).len(), 5);
    let (_, length) = cut.split_once("Content-Length: ").unwrap();
    let length: usize = length.split_once("\r\n").unwrap().0.parse().unwrap();
    assert!(length > 50, "{length}");

    for (key, fault, event, is_whole) in [
        ("s1", json!({"kind": "cut_stream"}), ": a comment\n", true),
        (
            "s2",
            json!({"kind": "cut_stream", "priming": true}),
            "id: 1\n",
            true,
        ),
        (
            "s3",
            json!({"kind": "cut_stream", "torn": true}),
            ": a comment\n",
            false,
        ),
    ] {
        let stream = http.call(&session, key, fault).await;
        assert!(stream.contains("text/event-stream"), "{stream}");
        assert!(stream.contains(event), "{stream}");
        assert!(!stream.contains("jsonrpc"), "{stream}");
        assert_eq!(stream.ends_with("\r\n0\r\n\r\n"), is_whole, "{stream}");
    }
    for (key, effects) in [("drop_before", 0), ("drop_after", 1)] {
        let message = call(1, key, json!({"kind": key})).to_string();
        let error = within("a reset", http.ask("POST", Some(&session), &message)).await;
        assert_eq!(error.unwrap_err().kind(), ErrorKind::ConnectionReset);
        assert_eq!(ledger.count("executed", key), effects, "{key}");
    }
    for key in ["cut", "s1", "s2", "s3"] {
        assert_eq!(ledger.count("executed", key), 1, "{key}");
    }
}

#[tokio::test]
async fn a_hang_opens_a_stream_or_says_nothing_and_blocks_no_sibling() {
    let ledger = Ledger::new();
    for (answer, head, end) in [("sse", "HTTP/1.1 200 ", "\r\n\r\n"), ("json", "", "")] {
        let (_server, http) = ledger.start_http(&["--answer", answer]).await;
        let session = http.session().await;
        let message = call(1, answer, json!({"kind": "hang"}));
        let (read, _open) = http.ask_in_vain(Some(&session), &message, end).await;
        starts_with(&read, head);
        assert_eq!(read.is_empty(), answer == "json", "{read}");
        let late = http
            .call(&session, "late", json!({"kind": "late", "seconds": 0.2}))
            .await;
        assert!(late.contains("late ran"), "{late}");
        assert_eq!(ledger.count("executed", answer), 1);
    }
}

#[tokio::test]
async fn the_other_faults_are_those_of_stdio() {
    let ledger = Ledger::new();
    let (mut server, http) = ledger.start_http(&[]).await;
    let session = http.session().await;
    let twice = http.call(&session, "twice", json!({"kind": "twice"})).await;
    assert_eq!(twice.matches("\"id\":1").count(), 2, "{twice}");
    let noise = http.call(&session, "noise", json!({"kind": "noise"})).await;
    assert!(noise.contains("data: [info]"), "{noise}");
    assert!(noise.contains("noise ran 1 time(s)"), "{noise}");
    let without_id = http.call(&session, "no_id", json!({"kind": "no_id"})).await;
    assert!(!without_id.contains("\"id\""), "{without_id}");

    let response = http
        .call(&session, "k", json!({"kind": "die_at_byte", "byte": 30}))
        .await;
    assert_eq!(response.len(), 30);
    assert_eq!(server.ended().await.1, Some(9));
    assert_eq!(ledger.count("executed", "k"), 1);
}

#[tokio::test]
async fn a_connection_serves_many_requests() {
    let ledger = Ledger::new();
    let (_server, Http { address }) = ledger.start_http(&["--answer", "json"]).await;
    let mut stream = TcpStream::connect(&address).await.unwrap();
    // All at once: the second is read with the first.
    let two = request("POST", None, "keep-alive", &initialize().to_string()).repeat(2);
    let last = request("GET", None, "close", "");
    let asked = format!("{two}{last}");
    stream.write_all(asked.as_bytes()).await.unwrap();
    let mut responses = String::new();
    let reading = stream.read_to_string(&mut responses);
    within("the responses", reading).await.unwrap();
    assert_eq!(responses.matches("HTTP/1.1 200 ").count(), 2, "{responses}");
    assert_eq!(responses.matches("HTTP/1.1 405 ").count(), 1, "{responses}");
}
