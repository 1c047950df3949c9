//! How arguments are logged.

use crate::support::{Answer, Call, Lines, Script};
use mcp_resilience::call_log::{ArgumentLogging, CallLogLayer};
use serde_json::{Value, json};
use std::borrow::Cow;
use tower::{Layer, ServiceExt};

async fn logged(
    arguments: Value,
    layer: impl FnOnce(CallLogLayer) -> CallLogLayer,
) -> (String, Value) {
    let lines = Lines::default();
    let tools = layer(CallLogLayer::new(lines.clone())).layer(Script::new([Ok(Answer::ok("x"))]));
    tools
        .oneshot(Call::tool("t").arguments(arguments))
        .await
        .unwrap();
    let text = lines.texts().remove(0);
    (text, lines.only()["arguments"].clone())
}

async fn masked(arguments: Value) -> Value {
    logged(arguments, |layer| layer).await.1
}

#[tokio::test]
async fn secrets_are_masked_at_any_depth() {
    for key in [
        "password",
        "Password",
        "user_password",
        "API-Key",
        "apiKey",
        "GITHUB_PERSONAL_ACCESS_TOKEN",
        "auth",
        "Authorization",
        "client_secret",
        "private_key",
        "sessionCookie",
        "pwd",
        "otp",
    ] {
        let arguments = json!({"a": [{key: "hunter2", "title": "Dune"}]});
        let expected = json!({"a": [{key: "[masked]", "title": "Dune"}]});
        assert_eq!(masked(arguments).await, expected, "{key}");
    }
    for (value, expected) in [
        ("Bearer abc", "Bearer [masked]"),
        ("basic dTpw", "basic [masked]"),
    ] {
        assert_eq!(
            masked(json!({"header": value})).await,
            json!({"header": expected})
        );
    }
    // A secret may be more than a string.
    assert_eq!(
        masked(json!({"token": {"value": 7}})).await,
        json!({"token": "[masked]"})
    );
    assert_eq!(
        masked(json!({"pin": 1234})).await,
        json!({"pin": "[masked]"})
    );
}

#[tokio::test]
async fn names_that_only_resemble_those_of_secrets_are_not_masked() {
    for arguments in [
        json!({"max_tokens": 100}),
        json!({"title": "The Password"}),
        json!({"author": "x", "authors": ["y"], "tokenize": false, "passage": "z", "pinned": 1}),
    ] {
        assert_eq!(masked(arguments.clone()).await, arguments);
    }
}

#[tokio::test]
async fn numbers_stand_there_digit_for_digit() {
    let numbers =
        r#"{"a":9007199254740993,"b":18446744073709551615,"c":-9223372036854775808,"d":1.0}"#;
    let (text, _) = logged(serde_json::from_str(numbers).unwrap(), |layer| layer).await;
    assert!(text.contains(&format!("\"arguments\":{numbers}")), "{text}");
}

#[tokio::test]
async fn all_of_unicode_stands_there_unchanged() {
    // All of the basic plane, and some of each other one.
    let further = ('\u{10000}'..=char::MAX).step_by(251);
    let all: Vec<_> = ('\0'..='\u{ffff}')
        .chain(further)
        .map(String::from)
        .collect();
    // As many as a line holds, each escaped as two times `\uXXXX`.
    for part in all.chunks(400) {
        let arguments = json!({ "text": part });
        let (text, line) = logged(arguments.clone(), |layer| layer).await;
        assert!(text.len() <= 16 * 1024, "{} bytes", text.len());
        assert_eq!(line, arguments);
    }
}

#[tokio::test]
async fn the_other_modes_log_all_the_shape_or_nothing() {
    let arguments = json!({"password": "hunter2", "n": 7, "b": true, "z": null, "list": [1, 2, 3], "o": {"s": "é"}});
    let raw = logged(arguments.clone(), |layer| {
        layer.arguments(ArgumentLogging::Raw)
    })
    .await
    .1;
    assert_eq!(raw, arguments);
    let shape = logged(arguments.clone(), |layer| {
        layer.arguments(ArgumentLogging::Shape)
    })
    .await
    .1;
    assert_eq!(
        shape,
        json!({"password": "string(7)", "n": "number", "b": "bool", "z": null, "list": "array(3)", "o": {"s": "string(2)"}})
    );
    let off = logged(arguments, |layer| layer.arguments(ArgumentLogging::Off))
        .await
        .1;
    assert_eq!(off, Value::Null, "absent");
}

#[tokio::test]
async fn arguments_that_are_no_object_are_logged_as_they_are() {
    for arguments in [
        json!([1, "two"]),
        json!("text"),
        json!(7),
        json!(null),
        json!(true),
    ] {
        assert_eq!(masked(arguments.clone()).await, arguments);
    }
}

#[tokio::test]
async fn long_arguments_are_cut_and_the_line_stays_one_valid_line() {
    let long = "x".repeat(10 * 1024 * 1024);
    let many: Value = (0..100_000).map(|n| json!({"n": n})).collect();
    let mut deep = json!("bottom");
    for _ in 0..100 {
        deep = json!({"a": [deep]});
    }
    for arguments in [
        json!({"a": long}),
        json!({"a": many}),
        json!({"a": deep}),
        json!({long: 1}),
    ] {
        let (text, seen) = logged(arguments, |layer| layer).await;
        assert!(text.len() < 5 * 1024, "{} bytes", text.len());
        assert!(seen.is_object());
    }
}

#[tokio::test]
async fn control_characters_and_line_ends_are_escaped() {
    let arguments = json!({"a\nb": "\u{0}\u{1b}[31m\r\n\u{7f}\u{85}\u{2028}\u{2029}\"\\é🦀"});
    let (text, seen) = logged(arguments.clone(), |layer| layer).await;
    assert_eq!(seen, arguments);
    assert!(
        !text
            .chars()
            .any(|c| c.is_control() || matches!(c, '\u{2028}' | '\u{2029}'))
    );
}

#[tokio::test]
async fn a_redactor_sees_strings_and_errors_and_the_tool_sees_the_original() {
    let lines = Lines::default();
    let layer = CallLogLayer::new(lines.clone())
        .redact(|text| Cow::Owned(text.replace("42-4711", "[customer]")));
    let tools = layer.layer(tower::service_fn(async |call: Call| {
        assert_eq!(call.arguments, json!({"who": "42-4711"}));
        Err::<Answer, tower::BoxError>("no customer 42-4711".into())
    }));
    let call = Call::tool("t").arguments(json!({"who": "42-4711"}));
    let failure = tools.oneshot(call).await.unwrap_err();

    let source = std::error::Error::source(&failure).unwrap();
    assert!(source.to_string().contains("42-4711"));
    let line = lines.only();
    assert_eq!(line["arguments"], json!({"who": "[customer]"}));
    assert_eq!(line["error"], "failed unexpectedly: no customer [customer]");
}
