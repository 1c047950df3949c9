//! A call that may have run is not repeated, whatever else its answer contains, and no model is
//! told to repeat it.

use crate::support::{Answer, Call, Script};
use mcp_resilience::{
    Class, Failure, ResilienceLayer,
    backoff::Jitter,
    call_log::CallLogLayer,
    failure::RpcError,
    policy::Policy,
    retry::{RetryBuilder, RetryLayer},
};
use serde_json::{Value, json};
use std::time::Duration;
use tower::{BoxError, Layer, ServiceExt};

type Step = Result<Answer, BoxError>;

fn retry() -> RetryBuilder {
    RetryLayer::builder()
        .jitter(Jitter::none())
        .policy(Policy::new().no_budget())
}

/// Answers the same each time, and counts its effects.
async fn effects(retry: RetryBuilder, call: Call, step: impl Fn() -> Step) -> (usize, Answer) {
    let tool = Script::new((0..9).map(|_| step()));
    let stack = ResilienceLayer::builder()
        .log(CallLogLayer::off())
        .retry(retry.build().unwrap())
        .build()
        .unwrap()
        .layer(tool.clone());
    let answer = stack.oneshot(call).await;
    // Of a JSON-RPC error only the effects matter.
    (tool.calls().len(), answer.unwrap_or_default())
}

/// A refusal in every way that a server may put it.
fn refusals() -> [Value; 3] {
    [
        json!({"code": "rate_limited", "error": "slow down", "retryAfter": 1}),
        json!({"code": "service_unavailable", "status": 503, "message": "later"}),
        json!({"code": "at_capacity", "current": {"rpm": 2}, "limits": {"maxRpm": 1}}),
    ]
}

#[tokio::test(start_paused = true)]
async fn a_refusal_deep_inside_an_answer_is_another_calls_and_repeats_nothing() {
    for refusal in refusals() {
        let forms = [
            json!({"booked": true, "mail": refusal}),
            json!({"mail": refusal}),
            json!({"booked": true, "upstream": {"response": refusal}}),
            json!({"booked": true, "result": {"error": refusal}}),
            json!({"booked": true, "mail_error": refusal}),
            json!({"mail_error": refusal, "seats": 2}),
            json!({"booked": 2, "details": [{"id": 1}, refusal]}),
            json!({"booked": 2, "error": {"details": [refusal]}}),
            json!({"booked": 2, "items": [{"id": 1}, refusal]}),
            json!({"booked": true, "warnings": [refusal]}),
            json!([refusal]),
        ];
        for form in forms {
            for is_error in [true, false] {
                let in_text = Answer::ok(&form.to_string());
                let structured = Answer::envelope(form.clone());
                for mut answer in [structured, in_text] {
                    answer.is_error = is_error;
                    let (effects, answered) =
                        effects(retry(), Call::tool("book"), || Ok(answer.clone())).await;
                    assert_eq!(effects, 1, "flagged: {is_error}, {form}");
                    assert_eq!(answered, answer, "and it comes back as it was");
                }
            }
        }
    }
}

/// Two of three mails are sent.
#[tokio::test(start_paused = true)]
async fn a_refusal_of_a_part_repeats_only_a_tool_that_may_run_twice() {
    let upstream = json!({"code": "upstream_error", "error": "502", "status": 502});
    let asked = json!({"code": "E17", "retryable": true});
    let parts = refusals().into_iter().chain([upstream, asked]);
    for part in parts {
        let forms = [
            json!({"sent": 2, "details": part}),
            json!({"sent": 2, "data": part}),
            json!({"sent": 2, "error": {"message": "x", "details": part}}),
            json!({"sent": 2, "error": {"message": "x", "error": part}}),
            json!({"sent": 2, "errors": [part]}),
            json!({"sent": 2, "mail": part}),
        ];
        for form in forms {
            let answer = Answer::envelope(form.clone());
            let (made, answered) =
                effects(retry(), Call::tool("send"), || Ok(answer.clone())).await;
            assert_eq!(made, 1, "{form}");
            assert_eq!(answered, answer);
            let data = || Some(form.clone());
            let rpc = || Err(RpcError::new(-32000, "x", data()).into());
            let (made, _) = effects(retry(), Call::tool("send"), rpc).await;
            assert_eq!(made, 1, "{form}, as a JSON-RPC error");
        }
        for (form, times) in [
            (json!({"sent": 2, "error": part}), 1),
            (json!({"ok": false, "error": part}), 3),
        ] {
            let answer = || Ok(Answer::envelope(form.clone()));
            let (made, _) = effects(retry(), Call::tool("send"), answer).await;
            assert_eq!(made, times, "{form}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn an_answer_without_a_flag_is_never_repeated_even_if_it_is_flagged_here() {
    for refusal in refusals() {
        for form in [refusal.clone(), json!({"error": refusal})] {
            let answer = Answer {
                is_error: false,
                ..Answer::envelope(form.clone())
            };
            for call in [Call::tool("book"), Call::read_only("get_book")] {
                let (effects, _) = effects(retry(), call, || Ok(answer.clone())).await;
                assert_eq!(effects, 1, "{form}");
            }
        }
    }
}

/// Codes of other servers. Most come from an API behind a tool.
#[rustfmt::skip]
const OTHERS: [&str; 20] = [
    "too_many_requests", "rate_limit_error", "rate_limit_exceeded", "throttling_exception",
    "quota_exceeded", "resource_exhausted", "overloaded", "unavailable", "upstream_unavailable",
    "timeout", "timeout_error", "tool_timeout", "upstream_timeout", "invalid_input",
    "validation_error", "unauthorized", "authentication_error", "authorization_error", "internal",
    "internal_error",
];

#[tokio::test(start_paused = true)]
async fn no_code_of_another_server_repeats_a_call() {
    for code in OTHERS {
        // Its wait or its status changes nothing.
        let envelopes = [
            json!({"code": code, "error": "x"}),
            json!({"code": code.to_uppercase(), "error": "x", "retryAfter": 1}),
            json!({"error": {"type": code, "message": "x"}, "status": 429}),
        ];
        for envelope in envelopes {
            let flagged = || Ok(Answer::envelope(envelope.clone()));
            let data = || Some(envelope.clone());
            let rpc = || Err(RpcError::new(-32000, "x", data()).into());
            let (made, _) = effects(retry(), Call::tool("book"), flagged).await;
            assert_eq!(made, 1, "{envelope}");
            let (made, _) = effects(retry(), Call::tool("book"), rpc).await;
            assert_eq!(made, 1, "{envelope}, as a JSON-RPC error");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_code_of_another_server_is_repeated_where_the_tool_may_run_twice_and_time_heals_it() {
    for code in OTHERS {
        let answer = || Ok(Answer::envelope(json!({"code": code, "error": "x"})));
        let (made, _) = effects(retry(), Call::read_only("get_book"), answer).await;
        let heals = Class::from_code(code).unwrap().heals();
        assert_eq!(made, if heals { 3 } else { 1 }, "{code}");
    }
}

#[tokio::test(start_paused = true)]
async fn the_envelope_that_is_built_here_calls_nothing_retryable_that_may_have_run() {
    type Made = fn() -> Failure;
    let lost: Made = || Failure::connection("reset by peer");
    let late: Made = || Failure::timeout("late");
    let asked: Made = || Failure::upstream("502").with_retryable(true);
    let busy: Made = || Failure::rate_limited(Some(Duration::from_secs(3600))).before_running();
    let never = || retry().repeat_ok(|_| Some(false));
    let pay = || Call::tool("pay");
    let read = || Call::read_only("get_book");
    #[rustfmt::skip]
    let cases = [
        ("lost", retry(), pay(), lost, 1, false),
        ("lost, may run twice", retry(), read(), lost, 3, true),
        ("late", retry(), pay(), late, 1, false),
        ("late, may not by the user's word", never(), read(), late, 1, false),
        ("asked for, may not by the user's word", never(), pay(), asked, 1, false),
        ("asked for, of a server that is not trusted", retry().distrust_server(), pay(), asked, 1, false),
        ("asked for", retry(), pay(), asked, 3, true),
        ("refused, too long a wait", retry(), pay(), busy, 1, true),
        ("refused, of a server that is not trusted", retry().distrust_server(), pay(), busy, 1, false),
    ];
    for (case, retry, call, failure, made, retryable) in cases {
        let (effects, answer) = effects(retry, call, || Err(failure().into())).await;
        assert_eq!(effects, made, "{case}");
        let envelope = answer.structured.unwrap();
        assert_eq!(envelope["retryable"], retryable, "{case}");
        let text = answer.texts.first().unwrap();
        let warns = text.contains("run; verify before repeating.");
        assert_eq!(warns, !retryable, "{case}: {text}");
    }
}
