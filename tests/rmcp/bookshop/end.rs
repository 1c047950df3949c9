//! The first fatal failure ends the server and is the reason for each caller.

use crate::support::{Bookshop, Wire, assert_has, over_both_wires};
use serde_json::json;

over_both_wires! {
    a_fatal_failure_is_answered_and_ends_the_process_with_a_reason
    a_fatal_failure_leaves_no_other_call_without_an_answer
}

const REASON: &str = "the shelf is gone, no call can succeed any more";

async fn a_fatal_failure_is_answered_and_ends_the_process_with_a_reason(wire: Wire) {
    let mut shop = Bookshop::open(wire, &[]).await;
    // Neither an open stdin nor an open stream may delay the end.
    let stream = shop.listen().await;
    let done = shop.call("shelve", json!({})).await;

    assert_eq!(done.error()["code"], -32603);
    assert_eq!(done.error()["message"], REASON);
    let wanted = json!({
        "level": "ERROR", "tool": "shelve", "outcome": "failed", "is_error": null,
        "retried": false, "attempts": 1, "class": "fatal", "error": REASON,
    });
    assert_has(&done.line, &wanted);

    let (status, said) = shop.ended().await;
    assert_eq!(status.code(), Some(1));
    assert_eq!(said, [format!("Error: {REASON}")]);
    drop(stream);
}

async fn a_fatal_failure_leaves_no_other_call_without_an_answer(wire: Wire) {
    let limits = ["--attempt-timeout", "900", "--grace", "1"];
    let mut shop = Bookshop::open(wire, &limits).await;
    let sleeping = shop.begin("sleep", json!({"seconds": 600})).await;
    let shelved = json!({"name": "shelve", "arguments": {}});
    let shelved = shop.send("tools/call", &shelved).await;

    let answer = shop.answer(shelved).await;
    assert_eq!(answer["error"]["message"], REASON);
    let answer = shop.answer(sleeping).await;
    // It only reads, so that nothing is to be verified.
    let told = "Error executing tool sleep: the server was shut down before it was done. \
                Try again later.";
    assert_eq!(answer["result"]["isError"], true, "{answer:#}");
    assert_eq!(answer["result"]["content"][0]["text"], told);
    let (status, _) = shop.ended().await;
    assert_eq!(status.code(), Some(1));
}
