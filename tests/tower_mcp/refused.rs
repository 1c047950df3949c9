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
