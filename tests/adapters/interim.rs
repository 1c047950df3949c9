//! Answers that are neither a success nor a failure.

use super::{Adapter, TOOL, for_the_adapter};
use crate::support::{Log, assert_has, preset};
use serde_json::{Value, json};

for_the_adapter! {
    an_interim_answer_passes_unflagged
}

async fn an_interim_answer_passes_unflagged<A: Adapter>() {
    let log = Log::default();
    let (server, params) = A::interim(TOOL, &preset(&log));
    let mut client = A::open(&server);
    client.initialize().await;
    let answer = client.request("tools/call", params).await;
    assert!(answer["result"].is_object(), "{answer:#}");
    assert_eq!(answer["result"]["isError"], Value::Null, "{answer:#}");
    let wanted = json!({
        "level": "INFO", "outcome": "interim", "is_error": null, "attempts": 1, "class": null,
    });
    assert_has(&log.only(), &wanted);
}
