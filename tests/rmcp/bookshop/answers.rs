//! Answers of a tool, and errors of a client.

use crate::support::{Bookshop, Sdk, Wire, assert_has, over_both_wires};
use serde_json::{Value, json};

over_both_wires! {
    the_server_introduces_itself_as_the_bookshop
    the_tools_are_annotated_as_the_table_says
    a_success_is_the_tools_own_answer
    a_tool_error_is_flagged_with_its_message
    a_protocol_error_keeps_its_code_message_and_data
    bad_arguments_are_flagged
    an_unknown_tool_is_an_error_of_the_protocol
    a_line_of_the_log_names_the_session_where_there_is_one
    many_calls_at_once_get_their_own_answers_and_lines
}

async fn the_server_introduces_itself_as_the_bookshop(wire: Wire) {
    let shop = Bookshop::open(wire, &[]).await;
    let version = env!("CARGO_PKG_VERSION");
    let wanted = json!({"name": "bookshop", "version": version});
    assert_eq!(shop.server(), &wanted);
    shop.leave().await;
}

async fn the_tools_are_annotated_as_the_table_says(wire: Wire) {
    let mut shop = Bookshop::open(wire, &[]).await;
    let answer = shop.request("tools/list", &json!({})).await;

    let tools = answer["result"]["tools"].as_array().unwrap();
    let mut annotated: Vec<(&str, bool, bool)> = tools
        .iter()
        .map(|tool| {
            let says = |hint: &str| tool["annotations"][hint] == json!(true);
            let name = tool["name"].as_str().unwrap();
            (name, says("readOnlyHint"), says("idempotentHint"))
        })
        .collect();
    annotated.sort_unstable();
    let expected = [
        ("get_author", true, true),
        ("get_author_strict", true, false),
        ("get_author_unchecked", true, false),
        ("print_catalog", true, false),
        ("quote_price", true, false),
        ("recommend", true, false),
        ("reserve", false, false),
        ("shelve", false, false),
        ("sleep", true, false),
    ];
    assert_eq!(annotated, expected);
    shop.leave().await;
}

async fn a_success_is_the_tools_own_answer(wire: Wire) {
    let mut shop = Bookshop::open(wire, &[]).await;
    let authors = [("Dune", "Frank Herbert"), ("Neuromancer", "William Gibson")];
    for tool in ["get_author", "get_author_strict", "get_author_unchecked"] {
        for (title, author) in authors {
            let done = shop.call(tool, json!({"title": title})).await;

            let content = json!([{"type": "text", "text": author}]);
            done.assert_success(&content);
            let wanted = json!({
                "level": "INFO", "method": "tools/call", "tool": tool,
                "arguments": {"title": title}, "outcome": "success", "is_error": false,
                "retried": false, "attempts": 1, "waited_ms": 0,
                "class": null, "code": null, "delivery": null, "retry_after_ms": null,
                "retries": null, "error": null, "uri": null, "prompt": null,
            });
            assert_has(&done.line, &wanted);
        }
    }
    shop.leave().await;
}

async fn a_tool_error_is_flagged_with_its_message(wire: Wire) {
    let mut shop = Bookshop::open(wire, &[]).await;
    let done = shop.call("get_author", json!({"title": "Nothing"})).await;

    assert_eq!(
        done.text(),
        "Error executing tool get_author: No book titled 'Nothing' in the catalog."
    );
    assert_eq!(done.result()["isError"], true);
    let envelope = json!({
        "code": "tool", "error": "No book titled 'Nothing' in the catalog.",
        "retryable": false, "attempts": 1,
    });
    assert_eq!(done.result()["structuredContent"], envelope);
    let wanted = json!({
        "level": "INFO", "tool": "get_author", "arguments": {"title": "Nothing"},
        "outcome": "failed", "is_error": true, "retried": false, "attempts": 1,
        "class": "tool", "error": "No book titled 'Nothing' in the catalog.",
    });
    assert_has(&done.line, &wanted);
    shop.leave().await;
}

async fn a_protocol_error_keeps_its_code_message_and_data(wire: Wire) {
    let mut shop = Bookshop::open(wire, &[]).await;
    let arguments = json!({"title": "Nothing"});
    let done = shop.call("get_author_strict", arguments).await;

    let error = json!({
        "code": -32602, "message": "No book titled 'Nothing' in the catalog.",
        "data": {"title": "Nothing"},
    });
    assert_eq!(done.error(), &error);
    let wanted = json!({
        "level": "INFO", "tool": "get_author_strict", "arguments": {"title": "Nothing"},
        "outcome": "failed", "is_error": null, "retried": false, "attempts": 1,
        "class": "invalid_input", "code": -32602,
        "error": "No book titled 'Nothing' in the catalog.",
    });
    assert_has(&done.line, &wanted);
    shop.leave().await;
}

async fn bad_arguments_are_flagged(wire: Wire) {
    let mut shop = Bookshop::open(wire, &[]).await;
    for arguments in [json!({"title": 5}), json!({}), json!({"titel": "Dune"})] {
        let done = shop.call("get_author", arguments.clone()).await;

        assert_eq!(done.result()["isError"], true);
        let text = done.text();
        let said = match Sdk::here() {
            Sdk::Rmcp => "failed to deserialize parameters",
            Sdk::TowerMcp => "Invalid input",
        };
        assert!(text.contains(said), "{text}");
        assert!(text.contains("string") || text.contains("title"), "{text}");
        let wanted = json!({
            "level": "INFO", "tool": "get_author", "arguments": arguments,
            "outcome": "failed", "is_error": true, "attempts": 1, "class": "invalid_input",
        });
        assert_has(&done.line, &wanted);
    }
    shop.leave().await;
}

async fn an_unknown_tool_is_an_error_of_the_protocol(wire: Wire) {
    let mut shop = Bookshop::open(wire, &[]).await;
    let done = shop.call("burn_books", json!({"title": "Dune"})).await;

    let message = match Sdk::here() {
        Sdk::Rmcp => "tool not found",
        Sdk::TowerMcp => "Unknown tool: burn_books",
    };
    let error = json!({"code": -32602, "message": message});
    assert_eq!(done.error(), &error);
    let wanted = json!({
        "level": "INFO", "tool": "burn_books", "arguments": {"title": "Dune"},
        "outcome": "failed", "is_error": null, "attempts": 1,
        "class": "not_found", "code": -32602, "error": message,
    });
    assert_has(&done.line, &wanted);
    shop.leave().await;
}

async fn a_line_of_the_log_names_the_session_where_there_is_one(wire: Wire) {
    let mut shop = Bookshop::open(wire, &[]).await;
    let trace = "4bf92f3577b34da6a3ce929d0e0e4736";
    let params = json!({
        "name": "get_author", "arguments": {"title": "Dune"},
        "_meta": {"traceparent": format!("00-{trace}-00f067aa0ba902b7-01")},
    });
    let done = shop.exchange("tools/call", &params).await;

    let session = match wire {
        Wire::Stdio => Value::Null,
        Wire::Http => json!(shop.http().session()),
    };
    let wanted = json!({"session_id": session, "trace_id": trace});
    assert_has(&done.line, &wanted);
    shop.leave().await;
}

async fn many_calls_at_once_get_their_own_answers_and_lines(wire: Wire) {
    let mut shop = Bookshop::open(wire, &[]).await;
    let mut sent = Vec::new();
    for number in 0..40 {
        let title = format!("Volume {number}");
        let params = json!({"name": "get_author", "arguments": {"title": title}});
        sent.push((shop.send("tools/call", &params).await, title));
    }
    for (id, title) in sent {
        let done = shop.conclude(id).await;
        let text =
            format!("Error executing tool get_author: No book titled '{title}' in the catalog.");
        assert_eq!(done.text(), text);
        assert_has(&done.line, &json!({"arguments": {"title": title}}));
    }
    shop.leave().await;
}
