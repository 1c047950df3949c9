//! The user's own masking: which texts it gets, and what it may do.

use super::retry;
use crate::support::{Answer, Call, Lines, Script};
use mcp_resilience::{
    Failure,
    call_log::{ArgumentLogging, CallLogLayer},
    classify::ClassifyLayer,
    is_error::IsErrorLayer,
};
use serde_json::{Value, json};
use std::{
    borrow::Cow,
    sync::{Arc, Mutex},
};
use tower::{BoxError, ServiceBuilder, ServiceExt};

const SECRET: &str = "4711";

fn hide(text: &str) -> Cow<'_, str> {
    Cow::Owned(text.replace(SECRET, "[customer]"))
}

/// The line of a call that is made with these answers, and what its caller got.
async fn logged(
    layer: impl FnOnce(CallLogLayer) -> CallLogLayer,
    call: Call,
    steps: impl IntoIterator<Item = Result<Answer, BoxError>>,
) -> (Value, Result<Answer, Failure>) {
    let lines = Lines::default();
    let tools = ServiceBuilder::new()
        .layer(layer(CallLogLayer::new(lines.clone())))
        .layer(IsErrorLayer::new())
        .layer(retry())
        .layer(ClassifyLayer::new())
        .service(Script::new(steps));
    let answer = tools.oneshot(call).await;
    (lines.only(), answer)
}

/// A call with the secret in every place.
fn everywhere() -> Call {
    let mut call = Call::tool("get_4711").arguments(json!({
        "who": "no. 4711", "key of 4711": ["4711", {"deep": "4711"}], "number": 4711,
    }));
    call.request_id = Some(json!("request 4711"));
    call.session_id = Some("session 4711".to_owned());
    call
}

#[tokio::test(start_paused = true)]
async fn the_redactor_sees_every_text_from_outside_and_no_numbers() {
    let busy = || {
        Failure::rate_limited(None)
            .before_running()
            .with_code("busy_4711")
    };
    let last = Failure::tool("no customer 4711")
        .with_code("missing_4711")
        .because(std::io::Error::other("row 4711"));
    let steps = [Err(busy().into()), Err(last.into())];
    let (line, answer) = logged(|layer| layer.redact(hide), everywhere(), steps).await;

    for (key, expected) in [
        ("tool", json!("get_[customer]")),
        (
            "arguments",
            json!({
                "who": "no. [customer]",
                "key of [customer]": ["[customer]", {"deep": "[customer]"}],
                "number": 4711,
            }),
        ),
        ("code", json!("missing_[customer]")),
        ("error", json!("no customer [customer]: row [customer]")),
        ("request_id", json!("request [customer]")),
        ("session_id", json!("session [customer]")),
    ] {
        assert_eq!(line[key], expected, "{key}");
    }
    assert_eq!(line["retries"][0]["code"], "busy_[customer]");
    let answer = answer.unwrap();
    let original = "Error executing tool get_4711: no customer 4711";
    assert_eq!(answer.text(), original, "the caller gets the original");
    assert_eq!(answer.structured.unwrap()["code"], "missing_4711");
}

#[tokio::test(start_paused = true)]
async fn the_redactor_sees_the_text_of_a_flagged_result_a_uri_and_a_prompt() {
    let flagged = || [Ok(Answer::flagged("no customer 4711"))];
    let redacted = |layer: CallLogLayer| layer.redact(hide);
    let (line, _) = logged(redacted, Call::tool("t"), flagged()).await;
    assert_eq!(line["error"], "no customer [customer]");
    let fine = || [Ok(Answer::ok("4711"))];
    let (line, _) = logged(redacted, Call::resource("db://4711"), fine()).await;
    assert_eq!(line["uri"], "db://[customer]");
    let (line, _) = logged(redacted, Call::prompt("ask_4711"), fine()).await;
    assert_eq!(line["prompt"], "ask_[customer]");
}

#[tokio::test(start_paused = true)]
async fn a_number_for_a_code_is_left_as_it_is() {
    let failure = Failure::tool("x").with_code(4711);
    let redacted = |layer: CallLogLayer| layer.redact(hide);
    let (line, _) = logged(redacted, Call::tool("t"), [Err(failure.into())]).await;
    assert_eq!(line["code"], 4711);
}

#[tokio::test(start_paused = true)]
async fn the_redactor_works_in_every_mode_that_shows_strings_and_with_the_masking_of_secrets() {
    let arguments = json!({"who": "4711", "password": "4711"});
    let cases = [
        (
            ArgumentLogging::Masked,
            // The value of the password is masked in every other place too.
            json!({"who": "[masked]", "password": "[masked]"}),
        ),
        (
            ArgumentLogging::Raw,
            json!({"who": "[customer]", "password": "[customer]"}),
        ),
        (
            ArgumentLogging::Shape,
            json!({"who": "string(4)", "password": "string(4)"}),
        ),
    ];
    for (mode, expected) in cases {
        let call = Call::tool("t").arguments(arguments.clone());
        let layer = |layer: CallLogLayer| layer.redact(hide).arguments(mode);
        let (line, _) = logged(layer, call, [Ok(Answer::ok("x"))]).await;
        assert_eq!(line["arguments"], expected, "{mode:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn one_that_panics_masks_what_it_was_given_and_fails_no_call() {
    let layer = |layer: CallLogLayer| {
        layer.redact(|text| {
            assert!(!text.contains(SECRET), "cannot redact {text}");
            Cow::Borrowed(text)
        })
    };
    let failure = Failure::tool("no customer 4711").with_code("missing_4711");
    let (line, answer) = logged(layer, everywhere(), [Err(failure.into())]).await;
    for key in ["tool", "code", "error", "request_id", "session_id"] {
        assert_eq!(line[key], "[masked]", "{key}");
    }
    assert_eq!(
        line["arguments"],
        json!({"who": "[masked]", "[masked]": ["[masked]", {"deep": "[masked]"}], "number": 4711})
    );
    let original = "Error executing tool get_4711: no customer 4711";
    assert_eq!(answer.unwrap().text(), original);
}

#[tokio::test(start_paused = true)]
async fn the_redactor_gets_the_first_16_kib_of_a_long_text_in_whole_characters() {
    let limit = 16 * 1024;
    for (unit, expected) in [("x", limit), ("é", limit), ("€", limit - 1), ("🦀", limit)] {
        let text = unit.repeat(limit);
        let mut call = Call::tool(&text).arguments(json!({"a": text}));
        call.request_id = None;
        let failure = Failure::tool(text.clone()).with_code(text.clone());
        let seen = Arc::<Mutex<Vec<usize>>>::default();
        let lengths = Arc::clone(&seen);
        let layer = |layer: CallLogLayer| {
            layer.redact(move |text| {
                // Texts outside a call come here too, from other tests that run at the same time.
                if text.starts_with(unit) {
                    lengths.lock().unwrap().push(text.len());
                }
                Cow::Borrowed(text)
            })
        };
        logged(layer, call, [Err(failure.into())]).await.1.unwrap();
        // The arguments, the name, the error and the code.
        assert_eq!(*seen.lock().unwrap(), [expected; 4], "{unit}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_secret_that_would_be_cut_is_seen_whole() {
    // The line cuts a name after 256 bytes, an error and arguments after 4 KiB.
    for (before, key) in [(254, "tool"), (4094, "error")] {
        let text = format!("{}{SECRET}", "x".repeat(before));
        let call = Call::tool(&text);
        let failure = Failure::tool(text);
        let redacted = |layer: CallLogLayer| layer.redact(hide);
        let (line, _) = logged(redacted, call, [Err(failure.into())]).await;
        let shown = line[key].as_str().unwrap();
        assert!(!shown.contains("47"), "{key}");
    }
}
