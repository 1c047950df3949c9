//! What a tool says of a service behind it is not said of the call: the rest of it may be done.

use crate::support::{Desk, Log, assert_has, call, connect, preset};
use mcp_resilience::rmcp::Resilient;
use rmcp::{
    ErrorData,
    model::{CallToolResponse, CallToolResult, ContentBlock, ErrorCode, MetaObject},
};
use serde_json::{Value, json};

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
async fn a_structured_refusal_of_the_call_itself_does() {
    let refused = json!({"status": 429, "code": "rate_limited", "error": "Rate limit exceeded"});
    let structured = CallToolResult::structured_error(refused.clone());
    assert_eq!(runs(Ok(structured)).await.0, 3);
    // In a text or an error, it may be what a service behind the tool said.
    for answer in [Ok(in_text(&refused)), Err(in_data(refused))] {
        let (runs, _) = runs(answer.clone()).await;
        assert_eq!(runs, 1, "{answer:#?}");
    }
}
