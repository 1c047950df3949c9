//! Which claims count, for each form.

use super::{Step, runs, runs_with};
use crate::support::{Answer, Call, Script};
use mcp_resilience::{
    Class, Delivery, Failure,
    classify::{ClassifyLayer, Vocabulary},
    failure::RpcError,
    policy::Policy,
    retry::RetryLayer,
};
use serde_json::{Map, Value, json};
use std::time::Duration;
use tower::{Layer, ServiceExt, load_shed::error::Overloaded};

#[test]
fn no_class_says_by_itself_that_a_call_did_not_run() {
    for class in Class::all() {
        assert!(!class.delivery().did_not_run(), "{class}");
        assert!(!Failure::new(class, "").delivery().did_not_run(), "{class}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_refusal_of_a_tool_is_repeated_only_if_its_author_says_that_nothing_ran() {
    type Made = fn() -> Failure;
    let refusals: [Made; 4] = [
        || Failure::rate_limited(None),
        || Failure::at_capacity(Some(Duration::from_secs(1))),
        || Failure::unavailable(None),
        || Failure::session_lost("gone"),
    ];
    for made in refusals {
        assert_eq!(runs(|| Err(made().into())).await, 1, "{:?}", made());
        let told = || made().before_running();
        assert_eq!(told().delivery(), Delivery::Refused);
        let times = if told().class() == Class::SessionLost {
            2
        } else {
            3
        };
        assert_eq!(runs(|| Err(told().into())).await, times, "{:?}", told());
        let not_sent = || made().with_delivery(Delivery::NotSent);
        assert_eq!(
            runs(|| Err(not_sent().into())).await,
            times,
            "{:?}",
            not_sent()
        );
    }
}

#[expect(clippy::unnecessary_wraps, reason = "a step of a script")]
fn flagged(text: &Value) -> Step {
    Ok(Answer::flagged(&text.to_string()))
}

#[expect(clippy::unnecessary_wraps, reason = "a step of a script")]
fn in_meta(key: &str, envelope: &Value) -> Step {
    Ok(Answer {
        meta: Some(Map::from_iter([(key.to_owned(), envelope.clone())])),
        ..Answer::flagged("it failed")
    })
}

/// The forms of a refusal, and of a permission to repeat.
fn claims() -> Vec<Value> {
    vec![
        json!({"code": "rate_limited", "error": "slow down", "retryAfter": 1}),
        json!({"code": "at_capacity", "error": "full"}),
        json!({"error": {"code": "service_unavailable", "message": "away"}}),
        json!({"code": "E17", "retryable": true}),
        json!({"service": "single", "code": "upstream_error", "error": "bad gateway", "status": 502}),
    ]
}

#[tokio::test(start_paused = true)]
async fn a_structured_envelope_is_a_claim_of_the_server_and_json_in_a_text_is_not() {
    for claim in claims() {
        let structured = || Ok(Answer::envelope(claim.clone()));
        assert_eq!(runs(structured).await, 3, "{claim}");
        let data = || Err(RpcError::new(-32000, "x", Some(claim.clone())).into());
        assert_eq!(runs(data).await, 3, "{claim}, as the data of an error");
        assert_eq!(runs(|| flagged(&claim)).await, 1, "{claim}, in a text");
    }
}

#[tokio::test(start_paused = true)]
async fn an_upstream_body_that_a_tool_echoes_in_its_text_repeats_nothing() {
    let bodies = [
        json!({"retryable": true}),
        json!({"status": 429}),
        json!({"status": 503, "retryAfter": 1}),
        json!({"code": "upstream_error"}),
        json!({"type": "error", "error": {"type": "rate_limit_error", "message": "x"}}),
    ];
    for body in bodies {
        assert_eq!(runs(|| flagged(&body)).await, 1, "{body}");
        let beside = || {
            let mut answer = Answer::envelope(json!({"sent": 2}));
            answer.texts = vec!["The mail was not sent.".to_owned(), body.to_string()];
            Ok(answer)
        };
        assert_eq!(runs(beside).await, 1, "{body}, beside a result");
    }
}

#[tokio::test(start_paused = true)]
async fn json_in_a_text_still_gives_class_code_and_wait_and_forbids_a_repeat() {
    let claim = json!({"code": "rate_limited", "error": "slow down", "retryAfter": 1});
    let failure = named(flagged(&claim)).await;
    assert_eq!(failure.class(), Class::RateLimited);
    assert_eq!(failure.delivery(), Delivery::Unknown);
    assert_eq!(failure.retry_after(), Some(Duration::from_secs(1)));
    assert_eq!(failure.code().unwrap().to_string(), "rate_limited");
    let no = json!({"code": "rate_limited", "error": "slow down", "retryable": false});
    assert_eq!(named(flagged(&no)).await.retryable(), Some(false));
}

#[tokio::test(start_paused = true)]
async fn only_documented_keys_of_meta_speak_of_the_call() {
    let own = mcp_resilience::is_error::META_KEY;
    for claim in claims() {
        for key in [own, "io.modelcontextprotocol/toolFailure"] {
            assert_eq!(runs(|| in_meta(key, &claim)).await, 3, "{key}: {claim}");
        }
        for key in [
            "vendor/outcome",
            "io.modelcontextprotocol/other",
            "error",
            "data",
        ] {
            assert_eq!(runs(|| in_meta(key, &claim)).await, 1, "{key}: {claim}");
        }
    }
    let bare = || {
        Ok(Answer {
            meta: json!({"retryable": true, "code": "rate_limited"})
                .as_object()
                .cloned(),
            ..Answer::flagged("it failed")
        })
    };
    assert_eq!(runs(bare).await, 1);
    // A longer wait and a "no" to repeats are always safe.
    let cautions = json!({"retryable": false, "retryAfter": 9});
    let failure = named(in_meta("vendor/outcome", &cautions)).await;
    assert_eq!(failure.retryable(), Some(false));
    assert_eq!(failure.retry_after(), Some(Duration::from_secs(9)));
}

#[tokio::test(start_paused = true)]
async fn an_upstream_error_is_repeated_only_in_the_envelope_that_is_documented() {
    let whole = json!({"service": "single", "code": "upstream_error", "error": "x", "status": 500});
    assert_eq!(runs(|| Ok(Answer::envelope(whole.clone()))).await, 3);
    let asked = json!({"code": "upstream_error", "retryable": true});
    assert_eq!(runs(|| Ok(Answer::envelope(asked.clone()))).await, 3);
    let others = [
        json!({"code": "upstream_error"}),
        json!({"code": "upstream_error", "error": "x"}),
        json!({"code": "upstream_error", "status": 502}),
        json!({"code": "upstream_error", "error": "x", "status": 404}),
        json!({"code": "upstream_error", "error": {"message": "x"}, "status": 502}),
        json!({"code": "upstream_error", "message": "x", "status": 502}),
        json!({"sent": 2, "details": whole}),
    ];
    for other in others {
        assert_eq!(
            runs(|| Ok(Answer::envelope(other.clone()))).await,
            1,
            "{other}"
        );
    }
}

#[tokio::test(start_paused = true)]
async fn the_users_vocabulary_says_what_may_be_repeated_wherever_the_code_stands() {
    let answers = |code: &str| {
        let envelope = json!({"code": code, "error": "x"});
        [
            Answer::envelope(envelope.clone()),
            Answer::flagged(&envelope.to_string()),
        ]
    };
    let words = Vocabulary::new()
        .refusal_code("E_QUOTA", Class::RateLimited)
        .repeatable_code("E_UPSTREAM", Class::Upstream)
        .code("rate_limited", Class::RateLimited);
    let classify = || ClassifyLayer::new().vocabulary(words.clone());
    for (code, times) in [("E_QUOTA", 3), ("E_UPSTREAM", 3), ("rate_limited", 1)] {
        for answer in answers(code) {
            let step = || Ok(answer.clone());
            assert_eq!(runs_with(classify(), step).await, times, "{answer:?}");
        }
        let part = json!({"sent": 2, "details": {"code": code, "error": "x"}});
        let step = || Ok(Answer::envelope(part.clone()));
        assert_eq!(runs_with(classify(), step).await, 1, "{part}");
    }
    let numbers = Vocabulary::new().repeatable_code(-31_005, Class::Upstream);
    let numbers = || ClassifyLayer::new().vocabulary(numbers.clone());
    let step = || Err(RpcError::new(-31_005, "x", None).into());
    assert_eq!(runs_with(numbers(), step).await, 3);
}

#[tokio::test(start_paused = true)]
async fn a_rule_of_the_users_is_believed_about_an_error_anywhere() {
    #[derive(Debug, thiserror::Error)]
    #[error("no free connection in the pool")]
    struct PoolEmpty;
    let quiet = || ClassifyLayer::new().rule(|_: &PoolEmpty| Some(Failure::at_capacity(None)));
    assert_eq!(runs_with(quiet(), || Err(PoolEmpty.into())).await, 1);
    let told = || {
        ClassifyLayer::new().rule(|_: &PoolEmpty| Some(Failure::at_capacity(None).before_running()))
    };
    assert_eq!(runs_with(told(), || Err(PoolEmpty.into())).await, 3);
}

#[tokio::test(start_paused = true)]
async fn an_error_of_json_rpc_says_by_one_number_alone_that_the_call_was_refused() {
    let wait = || Some(json!({"retryAfterMs": 1_000}));
    let made = |code: i32, data: Option<Value>| async move {
        let step = move || Err(RpcError::new(code, "slow down", data.clone()).into());
        runs(step).await
    };
    assert_eq!(made(-32023, wait()).await, 3);
    assert_eq!(made(-32023, None).await, 1, "the proposal wants a wait");
    for code in [
        -32029, -32105, -33001, -32000, -32001, -32600, -32601, -32602, -32603, -32700,
    ] {
        assert_eq!(made(code, wait()).await, 1, "{code}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_session_that_somebody_lost_is_no_refusal_without_a_connection_that_has_one() {
    for code in [-32001, -32600] {
        let lost = || RpcError::new(code, "Session not found", None);
        assert_eq!(runs(|| Err(lost().into())).await, 1, "{code}");
        let failure = ClassifyLayer::new().classify(lost());
        assert_eq!(failure.class(), Class::SessionLost, "{code}");
        assert_eq!(failure.delivery(), Delivery::Unknown, "{code}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_load_shed_right_below_speaks_of_the_call_and_one_in_an_error_does_not() {
    assert_eq!(runs(|| Err(Overloaded::new().into())).await, 3);
    let caused = || {
        Err(Failure::tool("the shop is full")
            .because(Overloaded::new())
            .into())
    };
    assert_eq!(runs(caused).await, 1);
    let wrapped = || Err(std::io::Error::other(Overloaded::new()).into());
    assert_eq!(runs(wrapped).await, 1);
    // `?` in a tool.
    let passed_on = || Err(Failure::from(tower::BoxError::from(Overloaded::new())).into());
    assert_eq!(runs(passed_on).await, 1);
    assert_eq!(
        runs(|| Err(std::io::Error::from(std::io::ErrorKind::ConnectionRefused).into())).await,
        1
    );
}

#[tokio::test(start_paused = true)]
async fn a_retry_without_classify_believes_only_the_author() {
    let retry = || {
        RetryLayer::builder()
            .policy(Policy::new().no_budget())
            .build()
            .unwrap()
    };
    for (step, times) in [
        (
            (|| Err(Failure::at_capacity(None).into())) as fn() -> Step,
            1,
        ),
        (
            || Err(Failure::at_capacity(None).before_running().into()),
            3,
        ),
        (|| Err(Overloaded::new().into()), 3),
        (|| Err(std::io::Error::other(Overloaded::new()).into()), 1),
    ] {
        let tool = Script::new((0..9).map(|_| step()));
        let _ = retry()
            .layer(tool.clone())
            .oneshot(Call::tool("book"))
            .await;
        assert_eq!(tool.calls().len(), times, "{:?}", step());
    }
}

async fn named(step: Step) -> Failure {
    let tools = ClassifyLayer::new().layer(Script::new([step]));
    tools.oneshot(Call::tool("book")).await.unwrap_err()
}
