//! Events and spans for `tracing`.

use crate::support::{Answer, Call, Script, traced};
use mcp_resilience::{
    Failure,
    call_log::{CallLogLayer, TracingEvents},
    classify::ClassifyLayer,
    is_error::IsErrorLayer,
};
use serde_json::Value;
use tower::{BoxError, ServiceBuilder, ServiceExt};

/// The output of a subscriber for one call.
async fn events(call: Call, step: impl Fn() -> Result<Answer, BoxError>) -> Vec<Value> {
    traced(async || {
        let tools = ServiceBuilder::new()
            .layer(CallLogLayer::new(TracingEvents::new()))
            .layer(IsErrorLayer::new())
            .layer(ClassifyLayer::new())
            .service(Script::new([step()]));
        let _ = tools.oneshot(call.clone()).await;
    })
    .await
}

#[tokio::test]
async fn each_call_is_one_event_with_plain_values() {
    let mut call = Call::tool("get_author").arguments(serde_json::json!({"title": "Dune"}));
    call.request_id = Some(serde_json::json!(7));
    let all = events(call, || Ok(Answer::flagged("no such book"))).await;
    let of_ours: Vec<_> = all
        .iter()
        .filter(|event| event["target"] == "mcp_resilience::call_log")
        .collect();
    assert_eq!(of_ours.len(), 1, "{all:#?}");
    let fields = &of_ours[0]["fields"];
    assert_eq!(of_ours[0]["level"], "INFO");
    assert_eq!(fields["tool"], "get_author");
    assert_eq!(fields["arguments"], r#"{"title":"Dune"}"#);
    assert_eq!(fields["outcome"], "failed");
    assert_eq!(fields["is_error"], true);
    assert_eq!(fields["class"], "tool");
    assert_eq!(fields["error"], "no such book");
    assert_eq!(fields["request_id"], "7");
    assert!(
        fields.get("code").is_none()
            && fields.get("uri").is_none()
            && fields.get("session_id").is_none()
    );
    assert!(!of_ours[0].to_string().contains("None"));
}

#[tokio::test]
async fn the_level_of_the_event_is_that_of_the_line() {
    for (failure, level) in [
        ((|| Failure::tool("x")) as fn() -> Failure, "INFO"),
        (|| Failure::connection("x"), "WARN"),
        (|| Failure::crash("x"), "ERROR"),
    ] {
        let all = events(Call::tool("t"), || Err(failure().into())).await;
        assert!(
            all.iter()
                .any(|event| event["target"] == "mcp_resilience::call_log"
                    && event["level"] == level),
            "{level}: {all:#?}"
        );
    }
}

#[tokio::test]
async fn the_span_has_the_names_of_opentelemetry() {
    let mut call = Call::tool("get_author");
    call.request_id = Some(serde_json::json!("r1"));
    call.session_id = Some("s1".to_owned());
    let all = events(call, || Ok(Answer::flagged("no"))).await;
    let closed = all
        .iter()
        .find(|event| event["fields"]["message"] == "close")
        .unwrap();
    let span = &closed["span"];
    for (key, value) in [
        ("otel.name", "tools/call get_author"),
        ("mcp.method.name", "tools/call"),
        ("gen_ai.operation.name", "execute_tool"),
        ("gen_ai.tool.name", "get_author"),
        ("jsonrpc.request.id", "r1"),
        ("mcp.session.id", "s1"),
        ("error.type", "tool_error"),
    ] {
        assert_eq!(span[key], value, "{key} in {span}");
    }

    let refuse = || Err(Failure::protocol(-32602, "no", None).into());
    let all = events(Call::resource("books://x"), refuse).await;
    let closed = all
        .iter()
        .find(|event| event["fields"]["message"] == "close")
        .unwrap();
    assert_eq!(closed["span"]["mcp.resource.uri"], "books://x");
    assert_eq!(closed["span"]["error.type"], "-32602");
    assert_eq!(closed["span"]["rpc.response.status_code"], "-32602");
}

#[tokio::test]
async fn the_span_gets_the_outcome_at_its_end_unless_it_is_a_success_of_the_first_attempt() {
    for (answer, outcome) in [
        ((|| Answer::ok("Frank Herbert")) as fn() -> Answer, None),
        (|| Answer::flagged("no such book"), Some("failed")),
    ] {
        let all = events(Call::tool("get_author"), || Ok(answer())).await;
        let mut closed = all.iter();
        let closed = closed.find(|event| event["fields"]["message"] == "close");
        let span = &closed.unwrap()["span"];
        assert_eq!(span["mcp_resilience.outcome"].as_str(), outcome, "{span}");
    }
}
