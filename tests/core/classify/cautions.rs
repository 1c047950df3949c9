//! A wait, and a "no" to a repeat, count in every place and form.
#![allow(
    clippy::needless_pass_by_value,
    reason = "values are made where they are passed"
)]

use crate::support::{Answer, Call, Script};
use mcp_resilience::{
    Class, Failure,
    classify::{ClassifyLayer, retry_after},
    failure::RpcError,
};
use serde_json::{Value, json};
use std::time::Duration;
use tower::{Layer, ServiceExt};

async fn read(answer: Answer) -> Failure {
    let tool = ClassifyLayer::new().layer(Script::new([Ok(answer)]));
    tool.oneshot(Call::tool("pay")).await.unwrap_err()
}

fn refusal_with(key: &str, value: Value) -> Answer {
    Answer::envelope(json!({"code": "rate_limited", key: value}))
}

#[tokio::test]
async fn a_no_is_heard_under_every_name_and_in_every_form() {
    for key in [
        "retryable",
        "isRetryable",
        "retriable",
        "canRetry",
        "can_retry",
        "should-retry",
    ] {
        for value in [
            json!(false),
            json!(0),
            json!("no"),
            json!("False"),
            json!("0"),
            json!("never"),
        ] {
            let failure = read(refusal_with(key, value.clone())).await;
            assert_eq!(failure.retryable(), Some(false), "{key}: {value}");
        }
    }
    for (key, value) in [
        ("retry", json!(false)),
        ("retry", json!("never")),
        ("noRetry", json!(true)),
        ("nonRetryable", json!("true")),
        ("a", json!({"b": {"retryable": false}})),
        ("a", json!({"b": {"canRetry": "no"}})),
    ] {
        let failure = read(refusal_with(key, value.clone())).await;
        assert_eq!(failure.retryable(), Some(false), "{key}: {value}");
    }
}

#[tokio::test]
async fn the_names_that_say_no_ask_for_no_repeat() {
    for (key, value) in [
        ("retriable", json!(true)),
        ("canRetry", json!(true)),
        ("retry", json!(true)),
        ("retry", json!(0)),
        ("noRetry", json!(false)),
        ("retryable", json!(1)),
        ("retryCount", json!(0)),
    ] {
        let failure = read(refusal_with(key, value.clone())).await;
        assert_eq!(failure.retryable(), None, "{key}: {value}");
    }
}

#[tokio::test]
async fn a_text_beside_the_envelope_adds_its_wait_and_its_no_and_changes_nothing_else() {
    for (permitted, text, expected) in [
        (true, r#"{"retryAfter": 3}"#, true),
        (true, r#"{"retryAfter": 3, "retryable": true}"#, true),
        (true, r#"{"retryAfter": 3, "retryable": false}"#, false),
        (false, r#"{"retryAfter": 3, "retryable": true}"#, false),
    ] {
        let envelope = json!({
            "code": "upstream_error", "error": "down", "status": 503, "retryable": permitted
        });
        let failure = read(Answer {
            texts: vec![text.to_owned()],
            ..Answer::envelope(envelope)
        })
        .await;
        assert_eq!(failure.class(), Class::Upstream, "{permitted} {text}");
        assert_eq!(failure.retryable(), Some(expected), "{permitted} {text}");
        assert_eq!(failure.retry_after(), Some(Duration::from_secs(3)));
    }
}

#[tokio::test]
async fn a_number_too_big_for_a_float_hides_nothing_beside_it() {
    let text = r#"{"code": "rate_limited", "retryAfter": 1e400, "retryable": false}"#;
    let failure = read(Answer::flagged(text)).await;
    assert_eq!(failure.class(), Class::RateLimited);
    assert_eq!(failure.retry_after(), Some(Duration::MAX));
    assert_eq!(failure.retryable(), Some(false));
}

#[test]
fn a_zero_in_band_beats_no_header() {
    let wait = |data| retry_after::in_rate_limited(&RpcError::new(-32023, "busy", Some(data)));
    assert_eq!(wait(json!({"retryAfterMs": 0})), None);
    let second = Some(Duration::from_secs(1));
    assert_eq!(wait(json!({"retryAfterMs": 1_000})), second);
}
