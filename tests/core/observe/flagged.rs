//! Events of results that the stack flags.

use crate::support::{Answer, Call, Lines, Script, Seen, events_of};
use mcp_resilience::{
    ResilienceLayer,
    call_log::CallLogLayer,
    is_error::{IsErrorLayer, detect},
};
use serde_json::Value;
use tower::{Layer, ServiceExt};

async fn answered(log: CallLogLayer, seen: Option<Seen>) -> Answer {
    let layer = ResilienceLayer::builder()
        .log(log)
        .is_error(IsErrorLayer::new().detect(detect::failure_in_text));
    let layer = match seen {
        Some(seen) => layer.observer(seen),
        None => layer,
    };
    let tool = Script::new([Ok(Answer::ok(r#"{"ok": false}"#))]);
    let stack = layer.build().unwrap().layer(tool);
    stack.oneshot(Call::tool("quote")).await.unwrap()
}

#[tokio::test(start_paused = true)]
async fn a_result_that_is_flagged_is_told_with_the_id_of_its_line() {
    let (seen, lines) = (Seen::new(), Lines::default());
    let answer = answered(CallLogLayer::new(lines.clone()), Some(seen.clone())).await;
    assert!(answer.is_error);
    assert_eq!(seen.lines(), ["0 result_flagged quote tool"]);
    let id = lines.only()["call_id"].as_str().map(str::to_owned);
    assert!(id.is_some());
    assert_eq!(seen.ids(), [id]);
}

#[tokio::test(start_paused = true)]
async fn without_an_observer_a_result_that_is_flagged_is_a_warning_unless_a_line_says_it() {
    let events = events_of(async || drop(answered(CallLogLayer::off(), None).await)).await;
    assert_eq!(events.len(), 1, "{events:#?}");
    assert_eq!(events[0]["level"], "WARN");
    assert_eq!(events[0]["target"], "mcp_resilience::is_error");
    assert_eq!(events[0]["fields"]["tool"], "quote");
    let logged = async || {
        let log = CallLogLayer::new(Lines::default());
        drop(answered(log, None).await);
    };
    let events = events_of(logged).await;
    let is_warning = |event: &&Value| event["level"] == "WARN";
    assert_eq!(events.iter().find(is_warning), None);
}
