//! A handler passes on an error. Only the author of the handler may say whether the call ran.
#![allow(
    clippy::items_after_statements,
    reason = "a type stands beside its only use"
)]

use crate::support::{Desk, Log, assert_has, call, connect, preset, text};
use mcp_resilience::{
    Class, Failure,
    classify::{ClassifyLayer, Vocabulary},
    failure::RpcError,
    rmcp::{AnyError, Resilient, client},
};
use rmcp::{
    ErrorData,
    model::{CallToolResponse, CallToolResult, ContentBlock, ErrorCode},
    service::ServiceError,
};
use serde_json::{Value, json};
use std::io;
use tower::{BoxError, Layer, ServiceExt, load_shed::error::Overloaded, service_fn};

/// How often a tool without hints runs that fails so each time, and its line.
async fn runs(fail: impl Fn() -> ErrorData + Clone + Send + Sync + 'static) -> (usize, Value) {
    let desk = Desk::new(move |_| {
        let fail = fail.clone();
        async move { Err(fail()) }
    });
    let attempts = desk.attempts();
    let log = Log::default();
    let client = connect(Resilient::with_preset(desk, &preset(&log)), ()).await;
    // A flagged result or an error: both are failures.
    let answer = client.call_tool(call("book")).await;
    assert!(answer.is_err() || answer.is_ok_and(|result| result.is_error == Some(true)));
    (attempts.so_far().len(), log.only())
}

fn any(error: impl Into<BoxError>) -> ErrorData {
    AnyError::from(error.into()).into()
}

#[tokio::test(start_paused = true)]
async fn an_error_that_a_handler_passes_on_says_nothing_of_its_call() {
    type Fail = fn() -> ErrorData;
    #[rustfmt::skip]
    let errors: Vec<(&str, Fail)> = vec![
        ("a load shed of its own client", || any(Overloaded::new())),
        ("a limit of its own client", || any(tower::timeout::error::Elapsed::new())),
        ("a connection of its own", || any(io::Error::from(io::ErrorKind::ConnectionRefused))),
        ("a failure without a word", || Failure::rate_limited(None).into()),
        ("a failure without a word", || any(Failure::at_capacity(None))),
        ("a failure without a word", || Failure::unavailable(None).into()),
        ("a failure made of an error", || Failure::from(BoxError::from(Overloaded::new())).into()),
        ("one that a border named", || ClassifyLayer::new().classify(Overloaded::new()).into()),
        ("one that a border named", || any(ClassifyLayer::new().classify(refusal()))),
        ("one around a word", || any(io::Error::other(Failure::at_capacity(None).before_running()))),
        ("one around a word", || Failure::connection("lost").because(Failure::at_capacity(None).before_running()).into()),
        ("a refusal of its own server", || client::classify_call(&ServiceError::McpError(refused_data())).into()),
        ("a JSON-RPC error of its own server", refused_data),
        ("a JSON-RPC error of its own server", || any(refusal())),
        ("`retryable` of its own server", || rpc(json!({"retryable": true}))),
        ("`retryable` of its own server", || any(rpc_error(json!({"retryable": true})))),
        ("`retryable` of its own server", || client::classify_call(&ServiceError::McpError(rpc(json!({"retryable": true})))).into()),
        ("a code that is documented as fine to repeat", || rpc(json!({"code": "upstream_error", "error": "x", "status": 502}))),
        ("a code that is documented as fine to repeat", || any(rpc_error(json!({"code": "upstream_error", "error": "x", "status": 502})))),
        ("a session of its own", || ErrorData::new(ErrorCode(-32001), "Session not found", None)),
        ("a session of its own", || ErrorData::new(ErrorCode(-32600), "Session terminated", None)),
    ];
    for (case, fail) in errors {
        let (runs, line) = runs(fail).await;
        assert_eq!(runs, 1, "{case}: {line}");
        assert_has(&line, &json!({"outcome": "failed", "attempts": 1}));
        assert_ne!(line["delivery"], "refused", "{case}: {line}");
        assert_ne!(line["delivery"], "not_sent", "{case}: {line}");
        assert_ne!(line["class"], "session_lost", "{case}: {line}");
    }
}

fn refusal() -> RpcError {
    RpcError::new(-32023, "slow down", Some(json!({"retryAfterMs": 10})))
}

fn rpc(data: Value) -> ErrorData {
    ErrorData::new(ErrorCode(-32000), "x", Some(data))
}

fn rpc_error(data: Value) -> RpcError {
    RpcError::new(-32000, "x", Some(data))
}

/// Codes of the user that do not say whether a call ran.
#[tokio::test(start_paused = true)]
async fn codes_without_a_refusal_do_not_turn_an_error_of_a_handler_into_one() {
    let words = [
        Vocabulary::new().wait_seconds("cooldown"),
        Vocabulary::new().envelope_in("fault"),
    ];
    let data = [
        json!({"cooldown": 1, "fault": {"code": "rate_limited"}}),
        json!({"cooldown": 1, "fault": {"code": "E17", "retryable": true}}),
        json!({"cooldown": 1, "fault": {"retryable": true}}),
    ];
    type Throw = fn(RpcError) -> ErrorData;
    let throw: [Throw; 3] = [
        |error| ClassifyLayer::new().classify(error).into(),
        any,
        |error| any(Failure::from(BoxError::from(error))),
    ];
    for (words, data) in words.iter().flat_map(|w| data.iter().map(move |d| (w, d))) {
        for (code, throw) in [-32023, -32000].iter().flat_map(|c| throw.map(|t| (c, t))) {
            let error = RpcError::new(*code, "x", Some(data.clone()));
            let desk = Desk::new(move |_| {
                let error = throw(error.clone());
                async move { Err::<CallToolResponse, _>(error) }
            });
            let attempts = desk.attempts();
            let log = Log::default();
            let classify = ClassifyLayer::new().vocabulary(words.clone());
            let preset = crate::support::settings(&log).classify(classify);
            let server = Resilient::with_preset(desk, &preset.build().unwrap());
            let _ = connect(server, ()).await.call_tool(call("book")).await;
            assert_eq!(
                attempts.so_far().len(),
                1,
                "{words:?} {data} {}",
                log.only()
            );
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_code_of_the_user_counts_for_errors_that_a_handler_passes_on() {
    let words = Vocabulary::new()
        .refusal_code(-32000, Class::RateLimited)
        .repeatable_code("E_UPSTREAM", Class::Upstream);
    type Fail = fn() -> ErrorData;
    let errors: [Fail; 4] = [
        || rpc(json!({})),
        || ClassifyLayer::new().classify(rpc_error(json!({}))).into(),
        || rpc(json!({"code": "E_UPSTREAM", "retryable": true})),
        || {
            ClassifyLayer::new()
                .classify(rpc_error(json!({"code": "E_UPSTREAM"})))
                .into()
        },
    ];
    for fail in errors {
        let desk = Desk::new(move |_| async move { Err::<CallToolResponse, _>(fail()) });
        let attempts = desk.attempts();
        let log = Log::default();
        let classify = ClassifyLayer::new().vocabulary(words.clone());
        let preset = crate::support::settings(&log).classify(classify);
        let server = Resilient::with_preset(desk, &preset.build().unwrap());
        let _ = connect(server, ()).await.call_tool(call("book")).await;
        assert_eq!(attempts.so_far().len(), 3, "{}", log.only());
    }
}

fn refused_data() -> ErrorData {
    let data = json!({"code": "rate_limited", "error": "slow down", "retryAfterMs": 10});
    ErrorData::new(ErrorCode(-32023), "slow down", Some(data))
}

#[tokio::test(start_paused = true)]
async fn the_author_of_a_handler_says_that_nothing_ran_yet() {
    for fail in [
        || ErrorData::from(Failure::at_capacity(None).before_running()),
        || any(Failure::at_capacity(None).before_running()),
        || Failure::upstream("busy").with_retryable(true).into(),
    ] {
        let (runs, line) = runs(fail).await;
        assert_eq!(runs, 3, "{line}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_failure_of_a_nested_stack_says_nothing_of_the_handlers_call() {
    async fn nested(failure: Failure) -> ErrorData {
        let fails = service_fn(move |(): ()| {
            let failure = failure.class();
            async move {
                let refused = Failure::new(failure, "x").before_running();
                Err::<CallToolResult, Failure>(refused.with_retryable(true))
            }
        });
        let stack = ClassifyLayer::new().layer(fails);
        stack.oneshot(()).await.unwrap_err().into()
    }
    for failure in [
        || Failure::rate_limited(None),
        || Failure::connection("refused"),
        || Failure::upstream("bad gateway"),
    ] {
        let desk = Desk::new(move |_| async move { Err(nested(failure()).await) });
        let attempts = desk.attempts();
        let log = Log::default();
        let client = connect(Resilient::with_preset(desk, &preset(&log)), ()).await;
        let answer = client.call_tool(call("book")).await.unwrap();
        assert_eq!(attempts.so_far().len(), 1, "{answer:?}");
        assert!(text(&answer).contains("run; verify before"), "{answer:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_rule_of_the_users_still_sees_the_error_of_a_handler() {
    #[derive(Debug, thiserror::Error)]
    #[error("no free connection in the pool")]
    struct PoolEmpty;
    let desk = Desk::new(|_| async { Err::<CallToolResponse, _>(any(PoolEmpty)) });
    let attempts = desk.attempts();
    let log = Log::default();
    let classify = ClassifyLayer::new()
        .rule(|_: &PoolEmpty| Some(Failure::at_capacity(None).before_running()));
    let preset = crate::support::settings(&log).classify(classify);
    let server = Resilient::with_preset(desk, &preset.build().unwrap());
    let client = connect(server, ()).await;
    client.call_tool(call("book")).await.unwrap();
    assert_eq!(attempts.so_far().len(), 3);
    assert_has(
        &log.only(),
        &json!({"class": "at_capacity", "delivery": "refused"}),
    );
}

/// The body of an upstream in the text of a tool.
#[tokio::test(start_paused = true)]
async fn a_body_that_a_tool_echoes_in_its_text_does_not_run_it_again() {
    for body in [
        json!({"retryable": true}),
        json!({"status": 429}),
        json!({"code": "upstream_error"}),
        json!({"code": "rate_limited", "error": "slow down", "status": 429}),
    ] {
        let answer = CallToolResult::error(vec![ContentBlock::text(body.to_string())]);
        let desk = Desk::new(move |_| {
            let answer = answer.clone();
            async move { Ok(answer.into()) }
        });
        let attempts = desk.attempts();
        let log = Log::default();
        let client = connect(Resilient::with_preset(desk, &preset(&log)), ()).await;
        client.call_tool(call("http_post")).await.unwrap();
        assert_eq!(attempts.so_far().len(), 1, "{body}");
    }
}
