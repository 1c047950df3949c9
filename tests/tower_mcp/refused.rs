//! Calls that tower-mcp cannot read: it answers them by itself, and they leave a line all the same.

use crate::support::{Bookshop, Wire, assert_has};
use serde_json::{Value, json};

/// The method, the parameters, the problem that the client is told, and what the line has of the call.
fn cases() -> [(&'static str, Value, &'static str, Value); 7] {
    let dune = json!({"title": "Dune"});
    [
        (
            "tools/call",
            json!({"name": 5, "arguments": dune}),
            "invalid type: integer",
            json!({"tool": "", "arguments": dune}),
        ),
        (
            "tools/call",
            json!({"arguments": dune}),
            "missing field `name`",
            json!({"tool": "", "arguments": dune}),
        ),
        (
            "tools/call",
            json!({"name": "get_author", "arguments": dune, "_meta": 5}),
            "_meta must be a JSON object",
            json!({"tool": "get_author", "arguments": dune}),
        ),
        (
            "tools/call",
            json!([1]),
            "must be a JSON object",
            json!({"tool": "", "arguments": null}),
        ),
        (
            "resources/read",
            json!({"uri": "books://dune", "_meta": []}),
            "_meta must be a JSON object",
            json!({"uri": "books://dune"}),
        ),
        (
            "resources/read",
            json!({}),
            "missing field `uri`",
            json!({"uri": ""}),
        ),
        (
            "prompts/get",
            json!({"name": "recommend", "arguments": {"mood": "sw0rdfish"}, "_meta": "no"}),
            "_meta must be a JSON object",
            json!({"prompt": "recommend", "arguments": {"mood": "sw0rdfish"}}),
        ),
    ]
}

#[tokio::test]
async fn a_call_that_cannot_be_read_leaves_its_line_over_stdio() {
    let mut shop = Bookshop::open(Wire::Stdio, &[]).await;
    for (method, params, problem, call) in cases() {
        let done = shop.exchange(method, &params).await;
        let error = done.error();
        assert_eq!(error["code"], -32602, "{error}");
        assert!(
            error["message"].as_str().unwrap().contains(problem),
            "{error}"
        );
        let wanted = json!({
            "level": "INFO", "outcome": "failed", "class": "invalid_input", "code": -32602,
            "delivery": "not_sent", "attempts": 1, "method": method,
        });
        assert_has(&done.line, &wanted);
        assert_has(&done.line, &call);
        assert!(done.line["error"].as_str().unwrap().contains(problem));
    }
    // Calls that it can read have their one line too.
    let done = shop.call("get_author", json!({"title": "Dune"})).await;
    assert_eq!(done.text(), "Frank Herbert");
    shop.leave().await;
}

#[tokio::test]
async fn the_line_of_a_call_that_cannot_be_read_has_no_value_out_of_place() {
    let mut shop = Bookshop::open(Wire::Stdio, &[]).await;
    let params = json!({"name": "recommend", "arguments": {"mood": ["sw0rdfish"]}});
    let done = shop.exchange("prompts/get", &params).await;
    assert_eq!(done.error()["code"], -32602);
    let said = done.line["error"].as_str().unwrap();
    assert!(said.ends_with("expected a string"), "{said}");
    assert!(!said.contains("sw0rdfish"), "{said}");
    shop.leave().await;
}

#[tokio::test]
async fn a_call_that_is_refused_without_its_id_leaves_its_line_over_stdio() {
    let mut shop = Bookshop::open(Wire::Stdio, &[]).await;
    let with = |id: u64, arguments: &[u8]| {
        let head = format!(
            r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{{"name":"get_author","arguments":"#
        );
        [head.as_bytes(), arguments, b"}}"].concat()
    };
    let deep = format!(r#"{{"title":{}1{}}}"#, "[".repeat(200), "]".repeat(200));
    let not_json: [&[u8]; 3] = [
        br#"{"title":1e400}"#,
        deep.as_bytes(),
        b"{\"title\":\"D\xffne\"}",
    ];
    for arguments in not_json {
        let id = shop
            .write_request("tools/call", |id| with(id, arguments))
            .await;
        assert_eq!(shop.error_without_id().await["code"], -32700);
        let wanted = json!({
            "outcome": "failed", "class": "invalid_input", "code": -32700,
            "delivery": "not_sent", "tool": "get_author",
        });
        assert_has(&shop.line(id).await, &wanted);
    }
    // Batches are of an earlier version.
    let dune = br#"{"title":"Dune"}"#;
    let first = shop.reserve("tools/call");
    let second = shop
        .write_request("tools/call", |second| {
            let calls = [with(first, dune), with(second, dune)];
            [b"[", &*calls.join(&b","[..]), b"]"].concat()
        })
        .await;
    assert_eq!(shop.error_without_id().await["code"], -32600);
    for id in [first, second] {
        let wanted = json!({
            "outcome": "failed", "code": -32600, "tool": "get_author",
            "arguments": {"title": "Dune"},
        });
        assert_has(&shop.line(id).await, &wanted);
    }
    let of_another_version = |id| {
        let line = String::from_utf8(with(id, dune)).unwrap();
        line.replace("2.0", "1.0").into_bytes()
    };
    let id = shop.write_request("tools/call", of_another_version).await;
    assert_eq!(shop.error_without_id().await["code"], -32600);
    assert_has(
        &shop.line(id).await,
        &json!({"outcome": "failed", "code": -32600}),
    );
    let later = shop.call("get_author", json!({"title": "Dune"})).await;
    assert_eq!(later.text(), "Frank Herbert");
    shop.leave().await;
}

#[tokio::test]
async fn a_call_that_has_a_member_twice_leaves_its_line_over_stdio() {
    let mut shop = Bookshop::open(Wire::Stdio, &[]).await;
    for member in ["jsonrpc", "id", "method", "params"] {
        let twice = |id: u64| {
            let call = json!({
                "jsonrpc": "2.0", "id": id, "method": "tools/call",
                "params": {"name": "get_author", "arguments": {"title": "Dune"}},
            });
            format!(
                r#"{{"{member}":{},{}"#,
                call[member],
                &call.to_string()[1..]
            )
        };
        let id = shop
            .write_request("tools/call", |id| twice(id).into_bytes())
            .await;
        assert_eq!(shop.error_without_id().await["code"], -32700, "{member}");
        let wanted = json!({
            "outcome": "failed", "class": "invalid_input", "code": -32700, "tool": "get_author",
            "arguments": {"title": "Dune"},
        });
        assert_has(&shop.line(id).await, &wanted);
    }
    shop.leave().await;
}

#[tokio::test]
async fn a_call_whose_id_is_missing_or_invalid_leaves_its_line_over_stdio() {
    let mut shop = Bookshop::open(Wire::Stdio, &[]).await;
    let ids = [
        ("none", None, Value::Null),
        ("null", Some(Value::Null), Value::Null),
        ("boolean", Some(json!(true)), Value::Null),
        ("float", Some(json!(1.5)), json!(1.5)),
    ];
    for (tool, id, logged) in ids {
        let mut call = json!({"jsonrpc": "2.0", "method": "tools/call", "params": {"name": tool}});
        if let Some(id) = id {
            call["id"] = id;
        }
        shop.write(&call.to_string()).await;
        assert_eq!(shop.error_without_id().await["code"], -32600, "{tool}");
        let wanted = json!({
            "outcome": "failed", "class": "invalid_input", "code": -32600, "delivery": "not_sent",
            "request_id": logged,
        });
        assert_has(&shop.line_of_tool(tool).await, &wanted);
    }
    shop.leave().await;
}

#[tokio::test]
async fn a_batch_with_a_notification_leaves_the_lines_of_its_calls_over_stdio() {
    let mut shop = Bookshop::open_revision("2025-03-26").await;
    let id = shop
        .write_request("tools/call", |id| {
            let call = json!({
                "jsonrpc": "2.0", "id": id, "method": "tools/call",
                "params": {"name": "get_author", "arguments": {"title": "Dune"}},
            });
            let notification = json!({
                "jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 99},
            });
            json!([call, notification]).to_string().into_bytes()
        })
        .await;
    assert_eq!(shop.error_without_id().await["code"], -32700);
    let wanted = json!({"outcome": "failed", "code": -32700, "tool": "get_author"});
    assert_has(&shop.line(id).await, &wanted);
    shop.leave().await;
}

/// tower-mcp refuses it before any service that could be wrapped.
#[tokio::test]
async fn over_http_a_call_that_cannot_be_read_is_refused_without_a_line() {
    let mut shop = Bookshop::open(Wire::Http, &[]).await;
    for (method, params, ..) in cases() {
        let id = shop.send(method, &params).await;
        shop.expect_no_line(id);
        let answer = shop.answer(id).await;
        assert_eq!(answer["error"]["code"], -32602, "{answer}");
    }
    let done = shop.call("get_author", json!({"title": "Dune"})).await;
    assert_eq!(done.text(), "Frank Herbert");
    shop.leave().await;
}
