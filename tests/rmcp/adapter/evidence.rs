//! A handler passes on an error of rmcp. Only the author of the handler may say whether the call ran.
#![allow(
    clippy::items_after_statements,
    reason = "a type stands beside its only use"
)]

use crate::support::{Desk, Log, assert_has, call, connect, preset};
use mcp_resilience::{
    Class,
    classify::{ClassifyLayer, Vocabulary},
    failure::RpcError,
    rmcp::{Resilient, client},
};
use rmcp::{
    ErrorData,
    model::{CallToolResponse, ErrorCode},
    service::ServiceError,
};
use serde_json::{Value, json};

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

/// What a handler makes of an error of its own client.
fn passed_on(error: ErrorData) -> ErrorData {
    client::classify_call(&ServiceError::McpError(error)).into()
}

#[tokio::test(start_paused = true)]
async fn an_error_of_a_client_that_a_handler_passes_on_says_nothing_of_its_call() {
    type Fail = fn() -> ErrorData;
    let errors: [Fail; 2] = [
        || passed_on(refused_data()),
        || passed_on(rpc(json!({"retryable": true}))),
    ];
    for fail in errors {
        let (runs, line) = runs(fail).await;
        assert_eq!(runs, 1, "{line}");
        assert_has(&line, &json!({"outcome": "failed", "attempts": 1}));
        assert_ne!(line["delivery"], "refused", "{line}");
        assert_ne!(line["delivery"], "not_sent", "{line}");
    }
}

fn rpc(data: Value) -> ErrorData {
    ErrorData::new(ErrorCode(-32000), "x", Some(data))
}

fn rpc_error(data: Value) -> RpcError {
    RpcError::new(-32000, "x", Some(data))
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
