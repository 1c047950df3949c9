//! Results without a flag, and kinds of results that have none.

use super::{Page, flags, search, unflagged};
use crate::support::{Call, Script};
use mcp_resilience::{
    Class, Failure,
    call::Hints,
    classify::ClassifyLayer,
    is_error::{IsErrorLayer, detect},
};
use serde_json::json;
use tower::{BoxError, Layer, ServiceBuilder, ServiceExt, service_fn};

/// Documented nowhere here: words that other servers use for failures, and documents for anything.
#[tokio::test]
async fn a_code_of_another_server_flags_no_result() {
    let layer = IsErrorLayer::new();
    let again = IsErrorLayer::new()
        .trust_unflagged()
        .detect(detect::envelope);
    let in_text = IsErrorLayer::new().detect(detect::failure_in_text);
    for (code, expected) in [
        ("timeout", false),
        ("overloaded", false),
        ("unavailable", false),
        ("internal", false),
        ("unauthorized", false),
        ("too_many_requests", false),
        ("rate_limit_exceeded", false),
        ("quota_exceeded", false),
        ("validation_error", false),
        ("rate_limited", true),
        ("upstream_unknown", true),
        ("auth_failed", true),
    ] {
        assert!(Class::from_code(code).is_some(), "{code} is a known word");
        let envelope = json!({"code": code, "error": "of the week"});
        for layer in [&layer, &again] {
            let seen = flags(layer, search(), unflagged(&envelope, "x")).await;
            assert_eq!(seen, expected, "{code}");
        }
        let text = unflagged(&json!(null), &envelope.to_string());
        let seen = flags(&in_text, search(), text).await;
        assert_eq!(seen, expected, "{code}, in a text");
    }
}

/// `{"code": "rate_limited", "message": "Clients get this when…"}` may be a document about codes.
#[tokio::test]
async fn a_tool_that_declares_a_schema_answers_what_its_schema_says() {
    let document = json!({"code": "rate_limited", "message": "Clients get this when they hurry."});
    let undeclared = search().hints.output_schema(false);
    for (hints, expected) in [
        (undeclared.output_schema(true), false),
        (undeclared, true),
        // It is unknown whether there is a schema.
        (Hints::new(), true),
    ] {
        let call = Call { hints, ..search() };
        let seen = flags(&IsErrorLayer::new(), call, unflagged(&document, "x")).await;
        assert_eq!(seen, expected, "{hints:?}");
    }
    // A detector of the user's sees every tool.
    let own = IsErrorLayer::new().detect(detect::envelope);
    let call = Call {
        hints: undeclared.output_schema(true),
        ..search()
    };
    assert!(flags(&own, call, unflagged(&document, "x")).await);
}

/// A page has no flag to set.
#[derive(Debug)]
struct Plain;

impl mcp_resilience::call::ToolResult for Plain {
    fn is_error(&self) -> bool {
        false
    }

    fn flag(&mut self) {}

    fn from_failure(_: mcp_resilience::call::Flagged) -> Option<Self> {
        None
    }
}

#[tokio::test]
async fn a_rule_for_a_resource_or_a_prompt_gives_an_error_for_the_host() {
    for (call, message) in [
        (Call::resource("books://Dune"), "the page is torn"),
        (Call::prompt("review"), "the page is torn"),
    ] {
        let torn = |_: &Plain| Some(Failure::tool("the page is torn"));
        let stack = ServiceBuilder::new()
            .layer(IsErrorLayer::new())
            .layer(ClassifyLayer::new().result_rule(torn))
            .service(service_fn(async |_: Call| Ok::<_, BoxError>(Plain)));
        let failure = stack.oneshot(call).await.expect_err("no success");
        let error = failure.rpc_error().unwrap();
        assert_eq!((error.code, error.message.as_str()), (-32603, message));
    }
}

#[tokio::test]
async fn a_rule_for_another_type_of_result_is_not_asked() {
    let asked = |_: &Page| -> Option<Failure> { panic!("asked of something else") };
    let tools = ClassifyLayer::new().result_rule(asked);
    let tools = tools.layer(Script::new([Ok(unflagged(&json!(null), "12.50"))]));
    let answer = tools.oneshot(search()).await.unwrap();
    assert_eq!(answer.text(), "12.50");
}
