//! Resources and prompts: no flag, and so only errors of the protocol.

use crate::support::{Bookshop, Exchange, Sdk, Wire, assert_has, over_both_wires};
use serde_json::{Value, json};

over_both_wires! {
    the_template_and_the_prompt_are_listed
    a_known_book_is_its_title_and_author
    a_missing_book_names_its_uri
    a_crashed_read_names_the_uri_and_nothing_else
    a_prompt_names_a_book_of_the_genre
    a_prompt_that_cannot_be_made_says_why
    a_crashed_prompt_names_the_prompt_and_nothing_else
}

const SECRETS: [&str; 5] = ["/srv", "shelf", "mounted", "fallen", "panicked"];

async fn read(shop: &mut Bookshop, uri: &str) -> Exchange {
    shop.exchange("resources/read", &json!({"uri": uri})).await
}

async fn prompt(shop: &mut Bookshop, arguments: Value) -> Exchange {
    let params = json!({"name": "recommend_book", "arguments": arguments});
    shop.exchange("prompts/get", &params).await
}

async fn the_template_and_the_prompt_are_listed(wire: Wire) {
    let mut shop = Bookshop::open(wire, &[]).await;
    let answer = shop.request("resources/templates/list", &json!({})).await;
    let templates = answer["result"]["resourceTemplates"].as_array().unwrap();
    assert_eq!(templates.len(), 1);
    assert_eq!(templates[0]["uriTemplate"], "books://{title}");

    let answer = shop.request("prompts/list", &json!({})).await;
    let prompts = answer["result"]["prompts"].as_array().unwrap();
    assert_eq!(prompts.len(), 1);
    assert_eq!(prompts[0]["name"], "recommend_book");
    assert_eq!(prompts[0]["arguments"][0]["name"], "genre");
    shop.leave().await;
}

async fn a_known_book_is_its_title_and_author(wire: Wire) {
    let mut shop = Bookshop::open(wire, &[]).await;
    let done = read(&mut shop, "books://Dune").await;

    let contents = done.result()["contents"].as_array().unwrap();
    assert_eq!(contents.len(), 1);
    assert_eq!(contents[0]["uri"], "books://Dune");
    assert_eq!(contents[0]["text"], "Dune by Frank Herbert");
    let wanted = json!({
        "level": "INFO", "method": "resources/read", "uri": "books://Dune", "tool": null,
        "outcome": "success", "is_error": null, "attempts": 1, "class": null,
    });
    assert_has(&done.line, &wanted);
    shop.leave().await;
}

async fn a_missing_book_names_its_uri(wire: Wire) {
    let mut shop = Bookshop::open(wire, &[]).await;
    let done = read(&mut shop, "books://Nothing").await;

    let message = "No book titled 'Nothing' in the catalog.";
    let error = json!({
        "code": -32602, "message": message, "data": {"uri": "books://Nothing"},
    });
    assert_eq!(done.error(), &error);
    let wanted = json!({
        "level": "INFO", "method": "resources/read", "uri": "books://Nothing", "tool": null,
        "outcome": "failed", "is_error": null, "class": "not_found", "error": message,
    });
    assert_has(&done.line, &wanted);
    shop.leave().await;
}

async fn a_crashed_read_names_the_uri_and_nothing_else(wire: Wire) {
    let mut shop = Bookshop::open(wire, &[]).await;
    let crashes = [
        ("books://Broken", "/srv/bookshop/shelf-4 is not mounted"),
        ("books://Panic", "shelf 5 has fallen over"),
    ];
    for (uri, cause) in crashes {
        let done = read(&mut shop, uri).await;

        let message = format!("Error reading resource {uri}");
        let error = json!({"code": -32603, "message": message});
        assert_eq!(done.error(), &error);
        let wanted = json!({
            "level": "ERROR", "method": "resources/read", "uri": uri, "tool": null,
            "outcome": "failed", "is_error": null, "attempts": 1, "class": "crash",
        });
        assert_has(&done.line, &wanted);
        let chain = done.line["error"].as_str().unwrap();
        assert!(chain.contains(cause), "{chain}");
    }
    let done = read(&mut shop, "books://Neuromancer").await;
    assert_eq!(
        done.result()["contents"][0]["text"],
        "Neuromancer by William Gibson"
    );
    shop.assert_never_sent(&SECRETS);
    shop.leave().await;
}

async fn a_prompt_names_a_book_of_the_genre(wire: Wire) {
    let mut shop = Bookshop::open(wire, &[]).await;
    let done = prompt(&mut shop, json!({"genre": "cyberpunk"})).await;

    let messages = done.result()["messages"].as_array().unwrap();
    assert_eq!(messages.len(), 1);
    let text = messages[0]["content"]["text"].as_str().unwrap();
    assert!(text.contains("Neuromancer by William Gibson"), "{text}");
    let wanted = json!({
        "level": "INFO", "method": "prompts/get", "prompt": "recommend_book", "tool": null,
        "arguments": {"genre": "cyberpunk"}, "outcome": "success", "is_error": null,
    });
    assert_has(&done.line, &wanted);
    shop.leave().await;
}

async fn a_prompt_that_cannot_be_made_says_why(wire: Wire) {
    let mut shop = Bookshop::open(wire, &[]).await;
    let refused = [
        (json!({"genre": "knitting"}), "not_found", "knitting"),
        (json!({}), "invalid_input", "genre"),
        (json!({"genre": 5}), "invalid_input", "genre"),
    ];
    // tower-mcp does not read arguments that are not strings, so its router never sees such a
    // request.
    let read = match Sdk::here() {
        Sdk::Rmcp => refused.len(),
        Sdk::TowerMcp => refused.len() - 1,
    };
    for (arguments, class, named) in refused.into_iter().take(read) {
        let done = prompt(&mut shop, arguments.clone()).await;

        assert_eq!(done.error()["code"], -32602);
        let message = done.error()["message"].as_str().unwrap();
        assert!(message.contains(named), "{message}");
        let wanted = json!({
            "level": "INFO", "method": "prompts/get", "prompt": "recommend_book", "tool": null,
            "arguments": arguments, "outcome": "failed", "is_error": null, "class": class,
            "error": message,
        });
        assert_has(&done.line, &wanted);
    }
    shop.leave().await;
}

async fn a_crashed_prompt_names_the_prompt_and_nothing_else(wire: Wire) {
    let mut shop = Bookshop::open(wire, &[]).await;
    let crashes = [
        ("Broken", "/srv/bookshop/shelf-4 is not mounted"),
        ("Panic", "shelf 5 has fallen over"),
    ];
    for (genre, cause) in crashes {
        let done = prompt(&mut shop, json!({"genre": genre})).await;

        let message = "Error getting prompt recommend_book";
        let error = json!({"code": -32603, "message": message});
        assert_eq!(done.error(), &error);
        let wanted = json!({
            "level": "ERROR", "method": "prompts/get", "prompt": "recommend_book",
            "outcome": "failed", "is_error": null, "attempts": 1, "class": "crash",
        });
        assert_has(&done.line, &wanted);
        let chain = done.line["error"].as_str().unwrap();
        assert!(chain.contains(cause), "{chain}");
    }
    let done = prompt(&mut shop, json!({"genre": "science fiction"})).await;
    assert!(done.result()["messages"].is_array());
    shop.assert_never_sent(&SECRETS);
    shop.leave().await;
}
