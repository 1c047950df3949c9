//! Unclassified errors and panics: the model reads that the call failed, and the log has the
//! reason.

use crate::support::{Bookshop, Exchange, Wire, assert_has, over_both_wires};
use serde_json::{Value, json};

over_both_wires! {
    an_unclassified_error_shows_an_id_and_the_log_has_the_chain_under_it
    a_panic_is_answered_and_the_server_goes_on
    a_panic_is_on_stderr_in_its_line_alone
}

/// Fails unless a crash shows nothing but an id, under which the log has the rest.
#[track_caller]
fn assert_is_crash(done: &Exchange, tool: &str, chain: &[&str]) {
    let id = done.line["call_id"].as_str().unwrap();
    assert_eq!(
        done.text(),
        format!("Error executing tool {tool} (call {id})")
    );
    let headline = format!("Error executing tool {tool}");
    let envelope = json!({
        "code": "internal_error", "error": headline, "retryable": false, "attempts": 1,
    });
    let result = json!({
        "content": [{"type": "text", "text": done.text()}],
        "structuredContent": envelope, "isError": true,
    });
    assert_eq!(done.result(), &result, "nothing else");
    let wanted = json!({
        "level": "ERROR", "tool": tool, "outcome": "failed", "is_error": true,
        "retried": false, "attempts": 1, "class": "crash",
    });
    assert_has(&done.line, &wanted);
    assert_tells(&done.line, chain);
}

#[track_caller]
fn assert_tells(line: &Value, chain: &[&str]) {
    let error = line["error"].as_str().unwrap();
    for part in chain {
        assert!(error.contains(part), "`{part}` in {error}");
    }
}

async fn an_unclassified_error_shows_an_id_and_the_log_has_the_chain_under_it(wire: Wire) {
    let mut shop = Bookshop::open(wire, &[]).await;
    let arguments = json!({"title": "Nothing"});
    let first = shop.call("get_author_unchecked", arguments.clone()).await;
    let second = shop.call("get_author_unchecked", arguments).await;

    let chain = [
        "cannot open /srv/bookshop/authors.db as user shop with password [masked]",
        "table `authors` is locked",
    ];
    assert_is_crash(&first, "get_author_unchecked", &chain);
    assert_is_crash(&second, "get_author_unchecked", &chain);
    assert_ne!(first.line["call_id"], second.line["call_id"]);
    shop.assert_never_sent(&["hunter2", "/srv", "authors.db", "locked", "user shop"]);
    shop.leave().await;
}

async fn a_panic_is_answered_and_the_server_goes_on(wire: Wire) {
    let mut shop = Bookshop::open(wire, &[]).await;
    for _ in 0..3 {
        let done = shop.call("recommend", json!({})).await;
        assert_is_crash(&done, "recommend", &["panicked", "index out of bounds"]);
    }
    let done = shop.call("get_author", json!({"title": "Dune"})).await;
    assert_eq!(done.text(), "Frank Herbert");
    shop.assert_never_sent(&["panicked", "index out of bounds", "service.rs"]);
    shop.leave().await;
}

async fn a_panic_is_on_stderr_in_its_line_alone(wire: Wire) {
    let mut shop = Bookshop::open(wire, &[]).await;
    let read = json!({"uri": "books://Panic"});
    let prompt = json!({"name": "recommend_book", "arguments": {"genre": "Panic"}});
    let panics = [
        (shop.call("recommend", json!({})).await, "service.rs:"),
        (shop.exchange("resources/read", &read).await, "service.rs:"),
        (shop.exchange("prompts/get", &prompt).await, "service.rs:"),
    ];
    for (done, place) in panics {
        let panicked = format!("panicked at examples/shop/{place}");
        assert_tells(&done.line, &[&panicked]);
    }
    shop.call("shelve", json!({})).await;
    let (_, said) = shop.ended().await;
    let reason = "Error: the shelf is gone, no call can succeed any more";
    assert_eq!(said, [reason], "and no line else");
}
