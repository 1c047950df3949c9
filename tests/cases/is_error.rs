//! Which answers are errors, and which are not.

use crate::{
    stack::{MS, Wrapped, fails, fine, preset, retry, see, see_in, wrapped_twice},
    support::{Answer, Call, Lines, Script, Strict},
};
use mcp_resilience::{
    Class, Failure,
    classify::ClassifyLayer,
    failure::RpcError,
    is_error::{IsErrorLayer, detect},
};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use tokio::time::Instant;
use tower::{BoxError, Layer, ServiceExt, service_fn};

/// Classes that a model does not see, or that are for the host.
fn is_special(class: Class) -> bool {
    let special = [
        Class::Crash,
        Class::Protocol,
        Class::Cancelled,
        Class::Fatal,
    ];
    special.contains(&class)
}

#[tokio::test(start_paused = true)]
async fn case_001_a_refused_operation_is_flagged_with_its_reason_and_logged_as_failed() {
    for class in Class::all().filter(|class| !is_special(*class)) {
        let refusal = Failure::new(class, "row does not exist").with_retryable(false);
        let seen = see(Call::tool("update_row"), [fails(refusal)]).await;
        assert_eq!(seen.calls.len(), 1, "{class}");
        let answer = seen.flagged();
        assert!(answer.text().contains("row does not exist"), "{answer:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn case_003_a_failure_in_an_unflagged_body_is_flagged_where_the_user_wants_it_seen() {
    let failures = [
        json!({"success": false, "error_code": "SQL_ERROR"}),
        json!({"ok": false, "reason": "no such table"}),
        json!({"isError": true, "message": "no such table"}),
        json!({"status": "error", "message": "no such table"}),
    ];
    for body in failures {
        let body = body.to_string();
        let flagged = Answer::flagged(&body);
        let cases = [
            (IsErrorLayer::new(), Answer::ok(&body), "success"),
            (
                IsErrorLayer::new().detect(detect::failure_in_text),
                flagged,
                "failed",
            ),
        ];
        for (layer, expected, outcome) in cases {
            let tool = Script::new([Ok(Answer::ok(&body))]);
            let preset = |lines: &Lines| preset(lines, retry()).is_error(layer);
            let seen = see_in(preset, Call::tool("query"), tool).await;
            assert_eq!(seen.answer.unwrap(), expected, "content is kept");
            assert_eq!(seen.line["outcome"], outcome, "{body}");
            assert_eq!(seen.calls.len(), 1);
        }
    }
}

#[tokio::test(start_paused = true)]
async fn case_003_a_document_with_an_error_key_stays_a_success() {
    let documents = [
        json!({"error": "an act that is not right", "word": "error"}),
        json!({"error": {"code": "rate_limited"}, "chapter": 3}),
        json!({"errors": 0, "success": true}),
        json!({"message": "not_found", "code": "E404"}),
    ];
    for document in documents {
        for layer in [
            IsErrorLayer::new(),
            IsErrorLayer::new().detect(detect::failure_in_text),
        ] {
            let answer = Answer {
                structured: Some(document.clone()),
                ..Answer::ok(&document.to_string())
            };
            let tool = Script::new([Ok(answer.clone())]);
            let preset = |lines: &Lines| preset(lines, retry()).is_error(layer);
            let seen = see_in(preset, Call::tool("look_up"), tool).await;
            assert_eq!(seen.answer.unwrap(), answer);
            assert_eq!(seen.line["outcome"], "success", "{document}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn case_006_a_success_that_says_nothing_is_a_success() {
    let structured = |value| Answer {
        structured: Some(value),
        ..Answer::default()
    };
    let empty = [
        Answer::ok(""),
        Answer::ok(" \n"),
        Answer::default(),
        structured(json!({"result": []})),
        structured(json!({})),
        structured(Value::Null),
    ];
    for answer in empty {
        let seen = see(Call::tool("clear_cache"), [Ok(answer.clone())]).await;
        assert_eq!(seen.answer.unwrap(), answer);
        assert_eq!(seen.calls.len(), 1);
        assert_eq!(seen.line["outcome"], "success");
        assert_eq!(seen.line["is_error"], false);
        assert_eq!(seen.line["level"], "INFO");
    }
}

#[tokio::test(start_paused = true)]
async fn case_008_the_servers_own_message_reaches_the_caller_unchanged() {
    let answers = [
        Answer::flagged("status bogus is not one of a,b,c"),
        Answer::flagged(""),
        Answer {
            texts: vec!["first".to_owned(), "second\n\ttabbed".to_owned()],
            structured: Some(json!({"field": "status", "allowed": ["a", "b", "c"]})),
            meta: json!({"trace": 7}).as_object().cloned(),
            ..Answer::flagged("")
        },
    ];
    for answer in answers {
        let seen = see(Call::tool("set_status"), [Ok(answer.clone())]).await;
        assert_eq!(seen.flagged(), &answer);
        assert_eq!(seen.calls.len(), 1);
    }
}

#[tokio::test(start_paused = true)]
async fn case_009_an_error_of_a_tool_is_a_flagged_result_and_no_internal_error() {
    let named = see(
        Call::tool("post"),
        [fails(Failure::tool("channel_not_found"))],
    )
    .await;
    assert_eq!(
        named.flagged().text(),
        "Error executing tool post: channel_not_found"
    );
    // For an unexpected error, the model gets an id, and the log has the text under that id.
    for error in [
        BoxError::from("channel_not_found"),
        wrapped_twice("channel_not_found"),
    ] {
        let seen = see(Call::tool("post"), [Err(error)]).await;
        let id = seen.line["call_id"].as_str().unwrap();
        let text = format!("Error executing tool post (call {id})");
        assert_eq!(seen.flagged().text(), text);
        let error = seen.line["error"].as_str().unwrap();
        assert!(error.contains("channel_not_found"), "{error}");
    }
}

#[tokio::test(start_paused = true)]
async fn case_010_a_json_rpc_error_of_the_server_stays_one() {
    let data = json!({"tool": "no_such_tool", "known": ["a", "b"]});
    for code in [-32700, -32600, -32601, -32602, -32603, -32002, -32000, 7] {
        for data in [None, Some(data.clone())] {
            let said = RpcError::new(code, "Unknown tool: no_such_tool", data);
            let step = Err(said.clone().into());
            let seen = see(Call::read_only("no_such_tool"), [step]).await;
            assert_eq!(seen.answer.unwrap_err().rpc_error(), Some(&said));
            assert_eq!(seen.calls.len(), 1, "{code} is never repeated");
            assert_eq!(seen.line["outcome"], "failed");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn case_011_an_error_without_a_message_still_says_which_tool_failed_and_how() {
    for class in Class::all().filter(|class| !is_special(*class)) {
        for blank in ["", "   ", "\n\t"] {
            let failure = Failure::new(class, blank).with_retryable(false);
            let seen = see(Call::tool("sync"), [fails(failure)]).await;
            let answer = seen.flagged();
            let said = answer.text().strip_prefix("Error executing tool sync: ");
            let said = said.unwrap_or_else(|| panic!("{answer:?}"));
            assert!(!said.trim().is_empty(), "{class}");
            assert_eq!(
                answer.structured.as_ref().unwrap()["code"],
                class.default_code(),
                "programs read the class"
            );
            assert_eq!(seen.line["class"], class.as_str());
            let logged = seen.line["error"].as_str().unwrap();
            assert!(!logged.trim().is_empty());
        }
    }
    // The source behind a blank message is for the log.
    let blank = Wrapped("", "disk offline".into());
    let seen = see(Call::tool("sync"), [Err(blank.into())]).await;
    assert!(!seen.flagged().text().contains("disk offline"));
    let error = seen.line["error"].as_str().unwrap();
    assert!(error.contains("disk offline"), "{error}");
}

#[tokio::test(start_paused = true)]
async fn case_012_a_result_that_cannot_be_written_as_json_is_a_failed_call_and_not_run_again() {
    /// A tool whose result cannot be written as JSON, because its keys are not strings.
    fn written() -> Result<Answer, serde_json::Error> {
        let rows = BTreeMap::from([(vec![1, 2], "x")]);
        serde_json::to_value(rows).map(|value| Answer::ok(&value.to_string()))
    }
    let unnamed = Script::new([written().map_err(BoxError::from)]);
    let seen = see_in(
        |lines| preset(lines, retry()),
        Call::read_only("rows"),
        unnamed,
    )
    .await;
    assert_eq!(seen.calls.len(), 1);
    assert!(seen.flagged().text().contains("Error executing tool rows"));
    let error = seen.line["error"].as_str().unwrap();
    assert!(error.contains("key must be a string"), "{error}");

    // If a tool or a rule classifies it, the model reads that.
    let layer = ClassifyLayer::new().rule(|error: &serde_json::Error| {
        Some(Failure::invalid_output(format!(
            "no JSON can hold it: {error}"
        )))
    });
    let named = Script::new([written().map_err(BoxError::from)]);
    let seen = see_in(
        |lines| preset(lines, retry()).classify(layer),
        Call::read_only("rows"),
        named,
    )
    .await;
    assert_eq!(seen.calls.len(), 1, "the tool has run");
    assert_eq!(seen.line["class"], "invalid_output");
    let text = seen.flagged().text();
    assert!(text.contains("key must be a string"), "{text}");
}

#[tokio::test(start_paused = true)]
async fn case_013_a_panic_in_a_tool_is_answered() {
    let tool = service_fn(|call: Call| {
        assert!(call.name != "boom_at_once", "index out of range");
        async move {
            if call.name == "boom" {
                std::panic::panic_any(json!({"no": "text"}));
            }
            if call.name == "boom_later" {
                tokio::time::sleep(MS).await;
                panic!("index out of range");
            }
            fine()
        }
    });
    let lines = Lines::default();
    let stack = preset(&lines, retry()).build().unwrap();
    let stack = stack.layer(Strict::new(tool));
    for tool in ["boom_at_once", "boom", "boom_later"] {
        let begun = Instant::now();
        let answer = stack.clone().oneshot(Call::read_only(tool)).await.unwrap();
        assert!(answer.is_error);
        assert!(begun.elapsed() <= MS, "promptly: {:?}", begun.elapsed());
        let next = stack.clone().oneshot(Call::tool("fine")).await.unwrap();
        assert_eq!(next, Answer::ok("fine"), "the service stays usable");
    }
    let lines = lines.all();
    assert_eq!(lines.len(), 6);
    assert!(lines.iter().step_by(2).all(|line| line["class"] == "crash"));
}
