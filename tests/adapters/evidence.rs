//! A handler passes on an error. Only the author of the handler may say whether the call ran.
#![allow(
    clippy::items_after_statements,
    reason = "a type stands beside its only use"
)]

use super::{Adapter, Answer, OK, Served, Tool, any, flagged, for_the_adapter, success};
use crate::support::{WAIT, assert_has};
use mcp_resilience::{
    Failure,
    classify::{ClassifyLayer, Vocabulary},
    failure::RpcError,
};
use rmcp::model::CallToolResult;
use serde_json::{Value, json};
use std::io;
use tokio::time::Instant;
use tower::{BoxError, Layer, ServiceExt, load_shed::error::Overloaded, service_fn};

for_the_adapter! {
    an_error_that_a_handler_passes_on_says_nothing_of_its_call
    codes_without_a_refusal_do_not_turn_an_error_of_a_handler_into_one
    the_author_of_a_handler_says_that_nothing_ran_yet
    a_refused_call_is_repeated_after_its_waits
    a_failure_of_a_nested_stack_says_nothing_of_the_handlers_call
    a_rule_of_the_users_still_sees_the_error_of_a_handler
    a_body_that_a_tool_echoes_in_its_text_does_not_run_it_again
}

/// Runs of a tool without hints that always fails, and its line.
async fn runs<A: Adapter>(
    fail: impl Fn() -> A::Error + Clone + Send + Sync + 'static,
) -> (u32, Value) {
    let served = Served::<A>::new(Tool::failing(fail));
    let answer = served.call().await;
    let is_failure = answer["error"].is_object() || answer["result"]["isError"] == true;
    assert!(is_failure, "{answer:#}");
    (served.runs.so_far(), served.log.only())
}

fn refusal() -> RpcError {
    let data = json!({"code": "rate_limited", "error": "slow down", "retryAfterMs": 10});
    RpcError::new(-32023, "slow down", Some(data))
}

fn error_with(data: Value) -> RpcError {
    RpcError::new(-32000, "x", Some(data))
}

fn border(error: impl Into<BoxError>) -> Failure {
    ClassifyLayer::new().classify(error)
}

async fn an_error_that_a_handler_passes_on_says_nothing_of_its_call<A: Adapter>() {
    type Fail<A> = fn() -> <A as Adapter>::Error;
    #[rustfmt::skip]
    let errors: Vec<(&str, Fail<A>)> = vec![
        ("a load shed of its own client", || any(Overloaded::new())),
        ("a limit of its own client", || any(tower::timeout::error::Elapsed::new())),
        ("a connection of its own", || any(io::Error::from(io::ErrorKind::ConnectionRefused))),
        ("a failure without a word", || Failure::rate_limited(None).into()),
        ("a failure without a word", || any(Failure::at_capacity(None))),
        ("a failure without a word", || Failure::unavailable(None).into()),
        ("a failure made of an error", || Failure::from(BoxError::from(Overloaded::new())).into()),
        ("one that a border named", || border(Overloaded::new()).into()),
        ("one that a border named", || any(border(refusal()))),
        ("one around a word", || any(io::Error::other(Failure::at_capacity(None).before_running()))),
        ("one around a word", || Failure::connection("lost").because(Failure::at_capacity(None).before_running()).into()),
        ("a JSON-RPC error of its own server", || A::rpc_error(refusal())),
        ("a JSON-RPC error of its own server", || any(refusal())),
        ("`retryable` of its own server", || A::rpc_error(error_with(json!({"retryable": true})))),
        ("`retryable` of its own server", || any(error_with(json!({"retryable": true})))),
        ("a code that is documented as fine to repeat", || A::rpc_error(error_with(json!({"code": "upstream_error", "error": "x", "status": 502})))),
        ("a code that is documented as fine to repeat", || any(error_with(json!({"code": "upstream_error", "error": "x", "status": 502})))),
        ("a session of its own", || A::rpc_error(RpcError::new(-32001, "Session not found", None))),
        ("a session of its own", || A::rpc_error(RpcError::new(-32600, "Session terminated", None))),
    ];
    for (case, fail) in errors {
        let (runs, line) = runs::<A>(fail).await;
        assert_eq!(runs, 1, "{case}: {line}");
        assert_has(&line, &json!({"outcome": "failed", "attempts": 1}));
        assert_ne!(line["delivery"], "refused", "{case}: {line}");
        assert_ne!(line["delivery"], "not_sent", "{case}: {line}");
        assert_ne!(line["class"], "session_lost", "{case}: {line}");
    }
}

/// Codes of the user that do not say whether a call ran.
async fn codes_without_a_refusal_do_not_turn_an_error_of_a_handler_into_one<A: Adapter>() {
    let words = [
        Vocabulary::new().wait_seconds("cooldown"),
        Vocabulary::new().envelope_in("fault"),
    ];
    let data = [
        json!({"cooldown": 1, "fault": {"code": "rate_limited"}}),
        json!({"cooldown": 1, "fault": {"code": "E17", "retryable": true}}),
        json!({"cooldown": 1, "fault": {"retryable": true}}),
    ];
    type Throw<A> = fn(RpcError) -> <A as Adapter>::Error;
    let throw: [Throw<A>; 3] = [
        |error| border(error).into(),
        |error| any(error),
        |error| any(Failure::from(BoxError::from(error))),
    ];
    for (words, data) in words.iter().flat_map(|w| data.iter().map(move |d| (w, d))) {
        for (code, throw) in [-32023, -32000].iter().flat_map(|c| throw.map(|t| (c, t))) {
            let error = RpcError::new(*code, "x", Some(data.clone()));
            let tool = Tool::failing(move || throw(error.clone()));
            let classify = ClassifyLayer::new().vocabulary(words.clone());
            let served = Served::<A>::classifying(tool, classify);
            served.call().await;
            let line = served.log.only();
            assert_eq!(served.runs.so_far(), 1, "{words:?} {data} {line}");
        }
    }
}

async fn the_author_of_a_handler_says_that_nothing_ran_yet<A: Adapter>() {
    let errors: [fn() -> A::Error; 3] = [
        || Failure::at_capacity(None).before_running().into(),
        || any(Failure::at_capacity(None).before_running()),
        || Failure::upstream("busy").with_retryable(true).into(),
    ];
    for fail in errors {
        let (runs, line) = runs::<A>(fail).await;
        assert_eq!(runs, 3, "{line}");
        assert_has(&line, &json!({"outcome": "failed", "attempts": 3}));
    }
}

async fn a_refused_call_is_repeated_after_its_waits<A: Adapter>() {
    let served = Served::<A>::new(Tool::new(async |run| match run {
        1 | 2 => Err(Failure::at_capacity(None).before_running().into()),
        _ => Ok(OK),
    }));
    let begun = Instant::now();
    assert_eq!(success(&served.call().await), "fine");
    assert_eq!(begun.elapsed(), 3 * WAIT);
    let wanted = json!({"outcome": "success", "attempts": 3, "waited_ms": 300});
    assert_has(&served.log.only(), &wanted);
}

async fn a_failure_of_a_nested_stack_says_nothing_of_the_handlers_call<A: Adapter>() {
    async fn nested(failure: Failure) -> Failure {
        let fails = service_fn(move |(): ()| {
            let refused = Failure::new(failure.class(), "x").before_running();
            async move { Err::<CallToolResult, Failure>(refused.with_retryable(true)) }
        });
        let stack = ClassifyLayer::new().layer(fails);
        stack.oneshot(()).await.unwrap_err()
    }
    for failure in [
        || Failure::rate_limited(None),
        || Failure::connection("refused"),
        || Failure::upstream("bad gateway"),
    ] {
        let tool = Tool::new(move |_| async move { Err(nested(failure()).await.into()) });
        let served = Served::<A>::new(tool);
        let answer = served.call().await;
        assert_eq!(served.runs.so_far(), 1, "{answer:#}");
        assert!(
            flagged(&answer).contains("run; verify before"),
            "{answer:#}"
        );
        assert_has(&served.log.only(), &json!({"attempts": 1}));
    }
}

async fn a_rule_of_the_users_still_sees_the_error_of_a_handler<A: Adapter>() {
    #[derive(Debug, thiserror::Error)]
    #[error("no free connection in the pool")]
    struct PoolEmpty;
    let classify = ClassifyLayer::new()
        .rule(|_: &PoolEmpty| Some(Failure::at_capacity(None).before_running()));
    let served = Served::<A>::classifying(Tool::failing(|| any(PoolEmpty)), classify);
    flagged(&served.call().await);
    assert_eq!(served.runs.so_far(), 3);
    let wanted = json!({"class": "at_capacity", "delivery": "refused"});
    assert_has(&served.log.only(), &wanted);
}

/// The body of an upstream in the text of a tool.
async fn a_body_that_a_tool_echoes_in_its_text_does_not_run_it_again<A: Adapter>() {
    for body in [
        json!({"retryable": true}),
        json!({"status": 429}),
        json!({"code": "upstream_error"}),
        json!({"code": "rate_limited", "error": "slow down", "status": 429}),
    ] {
        let body = body.to_string();
        let echo = body.clone();
        let tool = Tool::new(move |_| {
            let echo = Answer::Flagged(echo.clone());
            async move { Ok(echo) }
        });
        let served = Served::<A>::new(tool);
        assert_eq!(flagged(&served.call().await), body);
        assert_eq!(served.runs.so_far(), 1, "{body}");
        served.log.only();
    }
}
