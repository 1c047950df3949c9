//! A claim of a service behind a tool is not about the tool's call, of which a part may be done.

use crate::support::{Desk, Log, assert_has, call, connect, preset, settings};
use mcp_resilience::{
    Class, Failure,
    classify::{ClassifyLayer, Vocabulary},
    is_error::{IsErrorLayer, META_KEY},
    rmcp::Resilient,
};
use rmcp::{
    ErrorData,
    model::{
        CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, ErrorCode,
        MetaObject, ToolAnnotations,
    },
};
use serde_json::{Value, json};
use std::time::Duration;
use tower::{Layer, ServiceExt, service_fn};

/// Refusals of a service behind a tool, in the order of a saga: the books are sent, the mail is not.
fn nested() -> [Value; 6] {
    let refused = json!({"status": 429, "code": "rate_limited", "error": "Rate limit exceeded"});
    let down = json!({"status": 503, "code": "service_unavailable", "message": "down"});
    [
        json!({"error": "The mail was not sent.", "upstream": refused}),
        json!({"error": "The mail was not sent.", "upstream": down}),
        json!({"error": "The mail was not sent.", "upstream": {"status": 503}}),
        json!({"message": "The mail was not sent.", "steps": {"books": "sent", "mail": down}}),
        json!({"message": "The mail was not sent.", "cause": {"error": refused}}),
        json!({"error": "The mail was not sent.", "responses": [down, refused]}),
    ]
}

/// How often a tool runs that answers so each time, and its line.
async fn runs(answer: Result<CallToolResult, ErrorData>) -> (usize, Value) {
    let desk = Desk::new(move |_| {
        let answer = answer.clone().map(CallToolResponse::from);
        async move { answer }
    });
    let attempts = desk.attempts();
    let log = Log::default();
    let client = connect(Resilient::with_preset(desk, &preset(&log)), ()).await;
    // An error or a flagged result: both are failures.
    let answer = client.call_tool(call("ship")).await;
    assert!(answer.is_err() || answer.is_ok_and(|result| result.is_error == Some(true)));
    (attempts.so_far().len(), log.only())
}

fn in_text(envelope: &Value) -> CallToolResult {
    CallToolResult::error(vec![ContentBlock::text(envelope.to_string())])
}

fn in_meta(envelope: Value) -> CallToolResult {
    let mut meta = MetaObject::default();
    meta.0.insert("vendor/outcome".to_owned(), envelope);
    let text = ContentBlock::text("The mail was not sent.");
    CallToolResult::error(vec![text]).with_meta(Some(meta))
}

fn in_own_meta(envelope: Value) -> CallToolResult {
    let mut meta = MetaObject::default();
    meta.0.insert(META_KEY.to_owned(), envelope);
    let text = ContentBlock::text("The mail was not sent.");
    CallToolResult::error(vec![text]).with_meta(Some(meta))
}

fn in_data(envelope: Value) -> ErrorData {
    ErrorData::new(ErrorCode(-31_001), "The mail was not sent.", Some(envelope))
}

#[tokio::test(start_paused = true)]
async fn a_refusal_of_a_service_behind_the_tool_does_not_run_it_again() {
    for envelope in nested() {
        let answers = [
            Ok(CallToolResult::structured_error(envelope.clone())),
            Ok(in_text(&envelope)),
            Ok(in_meta(envelope.clone())),
            Err(in_data(envelope.clone())),
        ];
        for answer in answers {
            let (runs, line) = runs(answer.clone()).await;
            assert_eq!(runs, 1, "{answer:#?}");
            assert_has(&line, &json!({"outcome": "failed", "attempts": 1}));
        }
    }
}

#[tokio::test(start_paused = true)]
async fn an_envelope_that_a_handler_returns_never_says_that_its_call_may_run_again() {
    let envelopes = [
        json!({"status": 429, "code": "rate_limited", "error": "Rate limit exceeded"}),
        json!({"code": "at_capacity", "error": "full"}),
        json!({"retryable": true}),
        json!({"code": "upstream_error", "error": "x", "status": 502}),
        json!({"error": {"code": "service_unavailable", "message": "away", "retryable": true}}),
    ];
    for envelope in envelopes {
        let answers = [
            Ok(CallToolResult::structured_error(envelope.clone())),
            Ok(in_own_meta(envelope.clone())),
            Ok(in_text(&envelope)),
            Err(in_data(envelope)),
        ];
        for answer in answers {
            let (runs, line) = runs(answer.clone()).await;
            assert_eq!(runs, 1, "{answer:#?}");
            assert_ne!(line["delivery"], "refused", "{line}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn an_envelope_that_a_handler_returns_still_gives_class_code_and_wait() {
    let refused = json!({"code": "rate_limited", "error": "slow down", "retryAfter": 2});
    let answer = Ok(CallToolResult::structured_error(refused).into());
    let hints = ToolAnnotations::default().read_only(true);
    let desk = Desk::new(move |_| {
        let answer = answer.clone();
        async move { answer }
    });
    let desk = desk.annotated("look", hints);
    let attempts = desk.attempts();
    let log = Log::default();
    let client = connect(Resilient::with_preset(desk, &preset(&log)), ()).await;
    let begun = tokio::time::Instant::now();
    client.call_tool(call("look")).await.unwrap();
    assert_eq!(attempts.so_far().len(), 3, "it is read-only");
    assert!(begun.elapsed() >= Duration::from_secs(4), "two waits");
    let wanted = json!({"class": "rate_limited", "code": "rate_limited", "retry_after_ms": 2000});
    assert_has(&log.only(), &wanted);
}

#[tokio::test(start_paused = true)]
async fn the_flagged_result_of_a_nested_stack_says_nothing_of_the_handlers_call() {
    for is_schema_known in [true, false] {
        let desk = Desk::new(move |_| async move {
            let fails = service_fn(|_: CallToolRequestParams| async {
                let refused = Failure::rate_limited(None).before_running();
                Err::<CallToolResponse, _>(refused.with_retryable(true))
            });
            let client = IsErrorLayer::new().layer(fails);
            let mut answer = client.oneshot(call("mail")).await?;
            if let (true, CallToolResponse::Complete(result)) = (is_schema_known, &mut answer) {
                let meta = result.meta.take().unwrap();
                result.structured_content = meta.0.into_iter().next().map(|(_, value)| value);
            }
            Ok(answer)
        });
        let attempts = desk.attempts();
        let log = Log::default();
        let client = connect(Resilient::with_preset(desk, &preset(&log)), ()).await;
        let answer = client.call_tool(call("book")).await.unwrap();
        assert_eq!(attempts.so_far().len(), 1, "{answer:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn codes_of_the_user_count_for_the_flagged_result_of_a_handler() {
    let desk = Desk::new(|_| async {
        let envelope = json!({"code": "E_BUSY", "error": "x", "retryable": true});
        Ok(CallToolResult::structured_error(envelope).into())
    });
    let attempts = desk.attempts();
    let log = Log::default();
    let words = Vocabulary::new().refusal_code("E_BUSY", Class::AtCapacity);
    let preset = settings(&log).classify(ClassifyLayer::new().vocabulary(words));
    let client = connect(Resilient::with_preset(desk, &preset.build().unwrap()), ()).await;
    client.call_tool(call("book")).await.unwrap();
    assert_eq!(attempts.so_far().len(), 3, "{}", log.only());
}
