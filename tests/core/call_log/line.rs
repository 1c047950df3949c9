//! The fields of a line.

use super::retry;
use crate::support::{Answer, Call, Lines, Script};
use mcp_resilience::{
    Class, Delivery, Failure, call_log::CallLogLayer, classify::ClassifyLayer,
    is_error::IsErrorLayer, policy::Policy,
};
use serde_json::{Value, json};
use std::time::Duration;
use tower::{BoxError, ServiceBuilder, ServiceExt};

async fn line_of(call: Call, step: Result<Answer, BoxError>) -> Value {
    let lines = Lines::default();
    let tools = ServiceBuilder::new()
        .layer(CallLogLayer::new(lines.clone()))
        .layer(IsErrorLayer::new())
        .layer(retry())
        .layer(ClassifyLayer::new())
        .service(Script::new([step]));
    let _ = tools.oneshot(call).await;
    lines.only()
}

/// In the order of the alphabet.
fn keys(line: &Value) -> Vec<&str> {
    let line = line.as_object().unwrap();
    let mut keys: Vec<_> = line.keys().map(String::as_str).collect();
    keys.sort_unstable();
    keys
}

#[tokio::test(start_paused = true)]
async fn unknown_fields_are_left_out() {
    let line = line_of(Call::tool("t"), Ok(Answer::ok("Dune"))).await;
    let expected = [
        "arguments",
        "attempts",
        "call_id",
        "event",
        "is_error",
        "latency_ms",
        "level",
        "method",
        "outcome",
        "retried",
        "timestamp",
        "tool",
        "waited_ms",
    ];
    assert_eq!(keys(&line), expected);
}

#[tokio::test(start_paused = true)]
async fn a_failure_tells_all_that_is_known_of_it() {
    let failure = Failure::timeout("no answer from the bank")
        .with_code("bank_timeout")
        .with_retry_after(Duration::from_millis(1500))
        .because(std::io::Error::other("socket closed"));
    let line = line_of(Call::tool("pay"), Err(failure.into())).await;
    for (key, value) in [
        ("class", json!("timeout")),
        ("code", json!("bank_timeout")),
        ("delivery", json!("unknown")),
        ("retry_after_ms", json!(1500)),
        ("retry_stopped", json!("may_have_run")),
        ("error", json!("no answer from the bank: socket closed")),
        ("level", json!("WARN")),
        ("is_error", json!(true)),
        ("outcome", json!("failed")),
    ] {
        assert_eq!(line[key], value, "{key}");
    }
}

#[tokio::test(start_paused = true)]
async fn the_level_follows_the_class() {
    for class in Class::all() {
        let failure = Failure::new(class, "x").with_delivery(Delivery::Executed);
        let line = line_of(Call::tool("t"), Err(failure.into())).await;
        assert_eq!(line["level"], class.level().as_str(), "{class}");
        // Only a dropped call is cancelled.
        assert_eq!(line["outcome"], "failed", "{class}");
    }
}

#[tokio::test(start_paused = true)]
async fn ids_of_the_request_the_session_and_the_trace_are_there() {
    let mut call = Call::tool("t");
    call.request_id = Some(json!(9_007_199_254_740_993_i64));
    call.session_id = Some("b7c1".to_owned());
    call.meta.insert(
        "traceparent".to_owned(),
        json!("00-0af7651916cd43dd8448eb211c80319c-00f067aa0ba902b7-01"),
    );
    let line = line_of(call.clone(), Ok(Answer::ok("x"))).await;
    assert_eq!(line["request_id"].to_string(), "9007199254740993");
    assert_eq!(line["session_id"], "b7c1");
    assert_eq!(line["trace_id"], "0af7651916cd43dd8448eb211c80319c");

    call.request_id = Some(json!("a\"b\n"));
    for nonsense in [
        "00-xyz-1-01",
        "00-00000000000000000000000000000000-1-01",
        "",
        "-",
        "7",
    ] {
        call.meta.insert("traceparent".to_owned(), json!(nonsense));
        let line = line_of(call.clone(), Ok(Answer::ok("x"))).await;
        assert_eq!(line["request_id"], "a\"b\n");
        assert!(line.get("trace_id").is_none(), "{nonsense:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_resource_has_its_uri_and_a_prompt_its_name_instead_of_a_tool() {
    let line = line_of(Call::resource("books://Dune"), Ok(Answer::ok("x"))).await;
    assert_eq!(
        (&line["method"], &line["uri"]),
        (&json!("resources/read"), &json!("books://Dune"))
    );
    assert!(line.get("tool").is_none() && line.get("is_error").is_none());
    let line = line_of(Call::prompt("recommend"), Ok(Answer::ok("x"))).await;
    assert_eq!(
        (&line["method"], &line["prompt"]),
        (&json!("prompts/get"), &json!("recommend"))
    );
}

#[tokio::test(start_paused = true)]
async fn a_result_that_was_flagged_here_says_so() {
    let unflagged = Answer {
        structured: Some(json!({"code": "rate_limited", "error": "slow down"})),
        ..Answer::default()
    };
    let line = line_of(Call::tool("t"), Ok(unflagged)).await;
    assert_eq!(line["unflagged"], true);
    assert_eq!(line["class"], "rate_limited");
    assert_eq!(line["code"], "rate_limited");
    assert_eq!(line["error"], "slow down");
    assert_eq!(line["outcome"], "failed");
    assert_eq!(line["is_error"], true);
    assert_eq!(line["level"], "WARN");
}

#[tokio::test(start_paused = true)]
async fn the_worst_line_is_valid_and_within_its_limit() {
    // Every field as long as it can be, in characters that grow when they are escaped.
    let nasty = "\u{1}\"\\\u{2028}é".repeat(4 * 1024);
    let mut call = Call::tool(&nasty).arguments(json!({nasty.clone(): nasty, "b": [nasty, nasty]}));
    call.request_id = Some(json!(nasty));
    call.session_id = Some(nasty.clone());
    let failure = Failure::timeout(nasty.clone())
        .with_code(nasty.clone())
        .because(std::io::Error::other(nasty.clone()));
    let lines = Lines::default();
    let many = (0..40).map(|_| {
        Err(Failure::at_capacity(None)
            .before_running()
            .with_code(nasty.clone())
            .into())
    });
    let steps: Vec<Result<Answer, BoxError>> = many.chain([Err(failure.into())]).collect();
    let retry = mcp_resilience::retry::RetryLayer::builder()
        .max_attempts(100)
        .policy(Policy::new().waits(|| std::iter::repeat(Duration::from_millis(1))))
        .policy(Policy::new().no_budget())
        .build()
        .unwrap();
    let tools = ServiceBuilder::new()
        .layer(CallLogLayer::new(lines.clone()))
        .layer(retry)
        .service(Script::new(steps));
    let _ = tools.oneshot(call).await;

    let text = &lines.texts()[0];
    assert!(text.len() <= 16 * 1024, "{} bytes", text.len());
    let line = lines.only();
    assert_eq!(line["attempts"], 41);
    assert_eq!(
        line["retries"].as_array().unwrap().len(),
        17,
        "16, and that more follow"
    );
}
