use super::{Came, Incoming, MOST, MOST_BYTES, Named};
use crate::call::{IdempotencyKey, InvalidKey, KEY_META};
use ::tower_mcp::{
    RouterRequest,
    protocol::{McpRequest, RequestId},
    router::Extensions,
};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, BufReader};

fn call(id: &Value, meta: &Value) -> String {
    let params = json!({"name": "book", "_meta": meta});
    let call = json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params});
    format!("{call}\n")
}

/// Reads lines in pieces.
async fn read(lines: &str) -> Incoming {
    let incoming = Incoming::default();
    let mut reader = BufReader::with_capacity(7, incoming.reading(lines.as_bytes()));
    let mut text = String::new();
    reader.read_to_string(&mut text).await.expect("a text");
    assert_eq!(text, lines);
    incoming
}

/// A call that came, for its request.
fn take(incoming: &Incoming, id: &RequestId) -> Option<Came> {
    let params = serde_json::from_value(json!({"name": "book"}));
    let request = RouterRequest {
        id: id.clone(),
        inner: McpRequest::CallTool(params.expect("a call")),
        extensions: Extensions::new(),
    };
    incoming.take_request(&request, false)
}

/// The key of a call that came.
fn key(incoming: &Incoming, id: &RequestId) -> Option<Result<IdempotencyKey, InvalidKey>> {
    take(incoming, id)?.key()
}

fn text(incoming: &Incoming, id: &RequestId) -> Option<String> {
    Some(key(incoming, id)?.expect("a key").as_str().to_owned())
}

#[tokio::test]
async fn a_call_of_a_batch_is_noted_as_it_was_written() {
    let written = r#"{ "id": 1, "jsonrpc": "2.0", "method": "tools/call",
        "params": {"name": "book", "arguments": {"tolerance": 1.0e-30}}}"#
        .replace('\n', " ");
    let incoming = read(&format!("[{written}, {written}]\n")).await;
    let params = serde_json::from_value(json!({"name": "book", "arguments": {"tolerance": 1e-30}}));
    let request = RouterRequest {
        id: RequestId::Number(1),
        inner: McpRequest::CallTool(params.expect("a call")),
        extensions: Extensions::new(),
    };
    let came = incoming.take_request(&request, true).expect("a call");
    assert_eq!(str::from_utf8(&came.request), Ok(&*written));
}

#[tokio::test]
async fn keys_are_found_by_the_ids_of_their_requests() {
    let lines = [
        call(&json!(1), &json!({KEY_META: "order-1"})),
        call(&json!("1"), &json!({"idempotencyKey": "order-2"})),
        call(&json!(2), &json!({"progressToken": "idempotency"})),
        "no JSON with idempotency\n".to_owned(),
        format!(
            "[{},{}]\n",
            call(&json!(8), &json!({KEY_META: "order-8"})).trim_end(),
            call(&json!(9), &json!({KEY_META: "order-9"})).trim_end(),
        ),
        call(&json!(3), &json!({KEY_META: 5})),
        call(&json!(4.0), &json!({KEY_META: "order-4"})),
    ];
    let came = read(&lines.concat()).await;
    let first = RequestId::Number(1);
    assert_eq!(text(&came, &first).as_deref(), Some("order-1"));
    assert!(take(&came, &first).is_none(), "it is taken once");
    let id = RequestId::String("1".to_owned());
    assert_eq!(text(&came, &id).as_deref(), Some("order-2"));
    assert_eq!(key(&came, &RequestId::Number(2)), None);
    for id in [8, 9] {
        let of_batch = text(&came, &RequestId::Number(id));
        assert_eq!(of_batch, Some(format!("order-{id}")));
    }
    let refused = key(&came, &RequestId::Number(3));
    assert_eq!(refused, Some(Err(InvalidKey::NotAString)));
    let whole = text(&came, &RequestId::Number(4));
    assert_eq!(whole.as_deref(), Some("order-4"));
}

#[tokio::test]
async fn the_key_of_a_last_line_without_its_newline_is_found_too() {
    let line = call(&json!(1), &json!({KEY_META: "order-1"}));
    let came = read(line.trim_end()).await;
    let key = text(&came, &RequestId::Number(1));
    assert_eq!(key.as_deref(), Some("order-1"));
}

#[tokio::test]
async fn calls_that_nobody_takes_are_bounded_in_bytes() {
    let blob = "x".repeat(MOST_BYTES / 8);
    let lines = (0..20).map(|id| call(&json!(id), &json!({"blob": blob})));
    let came = read(&lines.collect::<String>()).await;
    assert!(came.lock().bytes <= MOST_BYTES);
    assert!(take(&came, &RequestId::Number(12)).is_none());
    for id in 13..20 {
        assert!(take(&came, &RequestId::Number(id)).is_some(), "{id}");
    }
    assert_eq!(came.lock().bytes, 0);

    let large = call(
        &json!(1),
        &json!({"blob": "x".repeat(MOST_BYTES), KEY_META: "order-1"}),
    );
    let came = read(&large).await;
    let key = text(&came, &RequestId::Number(1));
    assert_eq!(key.as_deref(), Some("order-1"), "the only one is kept");
}

#[tokio::test]
async fn a_call_never_gets_the_key_of_an_earlier_one_with_its_id() {
    let line = |title: &str, key: &str| {
        let params = json!({
            "name": "book", "arguments": {"title": title}, "_meta": {KEY_META: key},
        });
        let call = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params});
        format!("{call}\n")
    };
    let request = |title: &str| {
        let params = json!({"name": "book", "arguments": {"title": title}, "_meta": {}});
        RouterRequest {
            id: RequestId::Number(1),
            inner: McpRequest::CallTool(serde_json::from_value(params).expect("a call")),
            extensions: Extensions::new(),
        }
    };
    let lines = [
        line("Emma", "stale"),
        line("Dune", "first"),
        line("Dune", "second"),
    ];
    let came = read(&lines.concat()).await;
    let key = |title: &str| {
        let key = came.take_request(&request(title), true)?.key()?;
        Some(key.expect("a key").as_str().to_owned())
    };
    assert_eq!(key("Dune").as_deref(), Some("second"));
    assert_eq!(key("Dune").as_deref(), Some("first"));
    assert_eq!(key("Dune"), None, "the last one is of another request");
    assert_eq!(key("Emma").as_deref(), Some("stale"));
}

#[tokio::test]
async fn an_error_of_a_revision_takes_the_call_that_declares_the_revision() {
    let revision = |revision: &str| json!({"io.modelcontextprotocol/protocolVersion": revision});
    let of_session = call(&json!(1), &json!({KEY_META: "order-1"}));
    let declares = call(&json!(1), &revision("2026-07-28"));
    let other = call(&json!(1), &revision("2025-11-25"));
    let came = read(&[of_session, other, declares].concat()).await;
    let error = Named::Params {
        method: "tools/call",
        revision: "2026-07-28",
    };
    let meta = || {
        let call = came.take_named(&RequestId::Number(1), error)?.read();
        Some(call["params"]["_meta"].clone())
    };
    assert_eq!(meta(), Some(revision("2026-07-28")));
    // The session is of that revision.
    assert_eq!(meta(), Some(json!({KEY_META: "order-1"})));
    assert_eq!(meta(), None);
}

#[tokio::test]
async fn calls_that_nobody_takes_are_bounded() {
    let lines = (0..=MOST).map(|id| call(&json!(id), &json!({KEY_META: "order"})));
    let came = read(&lines.collect::<String>()).await;
    assert!(take(&came, &RequestId::Number(0)).is_none());
    assert!(take(&came, &RequestId::Number(1)).is_some());
}
