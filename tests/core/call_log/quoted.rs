//! The values that were masked in the arguments of a call, quoted elsewhere.

use super::{MS, retry};
use crate::support::{Answer, Call, Lines, Script, Strict, traced};
use mcp_resilience::{
    Failure,
    call_log::{ArgumentLogging, CallLogLayer},
    classify::ClassifyLayer,
    fatal::FatalLayer,
    is_error::IsErrorLayer,
    reconnect::ReconnectLayer,
};
use serde_json::{Value, json};
use std::{borrow::Cow, io};
use tower::{BoxError, Layer, ServiceBuilder, ServiceExt, service_fn};

/// The line of a call that fails with a text about its arguments.
async fn line_of(arguments: Value, text: &str) -> Value {
    logged(ArgumentLogging::Masked, arguments, text).await
}

async fn logged(mode: ArgumentLogging, arguments: Value, text: &str) -> Value {
    let lines = Lines::default();
    let tools = CallLogLayer::new(lines.clone()).arguments(mode);
    let tools = tools.layer(Script::new([Err(Failure::tool(text.to_owned()).into())]));
    let _ = tools
        .oneshot(Call::tool("login").arguments(arguments))
        .await;
    lines.only()
}

#[tokio::test]
async fn a_masked_value_is_masked_wherever_it_is_quoted() {
    let value = "C\u{e4}N/\"q\" & +7\n🦀";
    let json = serde_json::to_string(value).unwrap();
    let twice = serde_json::to_string(&json).unwrap();
    let percent = "C%C3%A4N%2F%22q%22%20%26%20%2B7%0A%F0%9F%A6%80";
    let form = "C%c3%a4N%2f%22q%22+%26+%2b7%0a%f0%9f%a6%80";
    let ascii = r#"C\u00e4N/\"q\" & +7\n\ud83e\udd80"#;
    let html = "C\u{e4}N/&quot;q&quot; &amp; +7\n🦀";
    let debug = format!("{value:?}");
    for quoted in [value, &json, &twice, percent, form, ascii, html, &debug] {
        let text = format!("refused <{quoted}> at once");
        let line = line_of(json!({"secret": value}), &text).await;
        let error = line["error"].as_str().unwrap();
        assert!(error.starts_with("refused <"), "{error}");
        assert!(error.ends_with("> at once"), "{error}");
        assert!(
            error.contains("[masked]") && !error.contains("q\\") && !error.contains('N'),
            "{error}"
        );
    }
}

#[tokio::test]
async fn signs_that_escape_others_may_be_part_of_a_value() {
    for (value, quoted) in [
        ("a%25b&c", "a%25b&c"),
        ("a%25b&c", "a%2525b%26c"),
        ("a&amp;b", "a&amp;b"),
        ("a&amp;b", "a&amp;amp;b"),
        ("a\\b\\\\c", "a\\b\\\\c"),
        ("a\\b\\\\c", "a\\\\b\\\\\\\\c"),
        ("a\\nb+c", "a\\nb+c"),
        ("a\\nb+c", "a\\\\nb%2bc"),
    ] {
        let line = line_of(json!({"secret": value}), &format!("({quoted})")).await;
        assert_eq!(line["error"], "([masked])", "{value} as {quoted}");
    }
}

#[tokio::test]
async fn values_within_a_secret_count_one_by_one() {
    let arguments = json!({
        "credentials": {"user": "emma-woodhouse", "codes": ["first-code", 778_899, true, null]},
        "url": "postgres://app:p%40ss-word@db/x",
        "header": "Basic ZW1tYTpodW50ZXIy",
        "headers": [{"name": "Cookie", "value": "sid=q1w2e3; theme=dark"}],
    });
    let text =
        "emma-woodhouse FIRST-CODE 778899 p@ss-word p%40ss-word hunter2 q1w2e3 dark true null";
    let line = line_of(arguments, text).await;
    let expected = "[masked] [masked] [masked] [masked] [masked] [masked] [masked] dark true null";
    assert_eq!(line["error"], expected);
}

#[tokio::test]
async fn the_parts_of_a_secret_that_others_quote_alone_are_masked() {
    let pem = "-----BEGIN KEY-----\nMIIEowIBAAKCAQEAx\nq83vEjRWeJC\n-----END KEY-----";
    for (arguments, quoted) in [
        (json!({"authorization": "ApiKey k9Qz7x12"}), "k9Qz7x12"),
        (json!({"auth": "emma:correcthorse"}), "correcthorse"),
        (json!({"credentials": "emma/k9Qz7x12"}), "k9Qz7x12"),
        (json!({"private_key": pem}), "q83vEjRWeJC"),
        (json!({"secret": "first line\nsecond line"}), "second line"),
        (
            json!({"url": "https://example.org/?api_key=c%6Frrecthorse"}),
            "correcthorse",
        ),
        (
            json!({"body": "{\"password\":\"correct\\u0068orse\"}"}),
            "correcthorse",
        ),
        (
            json!({"body": "{\"password\":\"correct\\nhorse\"}"}),
            "correct\nhorse",
        ),
    ] {
        let line = line_of(arguments.clone(), &format!("cannot use {quoted} here")).await;
        assert_eq!(line["error"], "cannot use [masked] here", "{arguments}");
    }
    // Ordinary words within a secret are not.
    let arguments = json!({"auth": "scheme:basic", "cookie": "theme=dark", "token": "an old one"});
    let line = line_of(arguments, "basic, dark, old").await;
    assert_eq!(line["error"], "basic, dark, old");
}

/// They are kept for as long as the call runs, and for a while after it.
#[tokio::test]
async fn a_long_text_is_masked_as_a_whole_if_there_are_too_many_secrets() {
    let text = |number: usize| format!("{number}{}", "x".repeat(300));
    let many: Vec<_> = (0..1025).map(|number| format!("many-{number}")).collect();
    // More than a megabyte.
    let long: Vec<_> = (0..70).map(|number| format!("{number:0>16000}")).collect();
    for secrets in [many, long] {
        let line = line_of(json!({"secrets": secrets}), &text(7)).await;
        assert_eq!(line["error"], "[masked]");
        let line = line_of(json!({"secrets": secrets[..64]}), &text(7)).await;
        assert_eq!(line["error"], text(7));
    }
}

#[tokio::test]
async fn a_value_is_known_by_any_entity_of_html() {
    let arguments = json!({"password": "a</'b"});
    for quoted in [
        "a&lt;/&#39;b",
        "a&#60;&#x2f;&#x27;b",
        "a&#x3C;&#47;&apos;b",
        "a&#060;/&#039;b",
    ] {
        let line = line_of(arguments.clone(), &format!("({quoted})")).await;
        assert_eq!(line["error"], "([masked])", "{quoted}");
    }
}

#[tokio::test]
async fn a_value_that_was_not_masked_stays_readable() {
    let arguments = json!({"where": "genre=scifi1; year=y1965", "token": "CANARY-1"});
    let line = line_of(arguments, "nothing of scifi1 in y1965").await;
    assert_eq!(line["error"], "nothing of scifi1 in y1965");
}

#[tokio::test]
async fn a_short_value_is_masked_only_as_a_word_of_its_own() {
    let text = "1 of 10 failed at 1:21, x1 and 1x";
    let line = line_of(json!({"pin": 1}), text).await;
    assert_eq!(
        line["error"],
        "[masked] of 10 failed at [masked]:21, x1 and 1x"
    );
    let line = line_of(json!({"pin": "", "token": " "}), text).await;
    assert_eq!(line["error"], text);
}

#[tokio::test]
async fn a_value_that_is_cut_is_known_by_its_beginning() {
    for cut in [
        "invalid token CANARY-12",
        "invalid token CANARY-…",
        "invalid 'CANARY...'",
        "invalid token CANARY***",
        "invalid token CANARY-[cut]",
        "invalid token CANARY- [truncated]",
    ] {
        let line = line_of(json!({"token": "CANARY-123456"}), cut).await;
        let error = line["error"].as_str().unwrap();
        assert!(
            error.starts_with("invalid ") && !error.contains("CANARY"),
            "{error}"
        );
    }
    // Also where the text is so long that the crate itself cuts it.
    let text = format!("{}CANARY-123456", "x".repeat(16 * 1024 - 7));
    let line = line_of(json!({"token": "CANARY-123456"}), &text).await;
    assert!(!line["error"].as_str().unwrap().contains("CANARY"));
}

#[tokio::test]
async fn a_quoted_secret_is_masked_in_every_mode_but_raw() {
    let arguments = json!({"token": "CANARY-1"});
    for (mode, expected) in [
        (ArgumentLogging::Shape, "invalid [masked]"),
        (ArgumentLogging::Off, "invalid [masked]"),
        (ArgumentLogging::Raw, "invalid CANARY-1"),
    ] {
        let line = logged(mode, arguments.clone(), "invalid CANARY-1").await;
        assert_eq!(line["error"], expected, "{mode:?}");
    }
}

#[tokio::test]
async fn values_behind_the_end_of_the_line_count_too() {
    let long = "x".repeat(100_000);
    let arguments = json!({"a": long, "z": {"token": "CANARY-1"}});
    let line = line_of(arguments, "invalid CANARY-1").await;
    assert_eq!(line["error"], "invalid [masked]");
}

#[tokio::test]
async fn the_work_for_hostile_arguments_and_texts_is_bounded() {
    let almost = format!("{}b", "a".repeat(4000));
    let values: Vec<String> = (0..5000).map(|n| format!("{almost}{n}")).collect();
    let lines = Lines::default();
    let tools = CallLogLayer::new(lines.clone());
    let text = "a".repeat(16 * 1024);
    let tools = tools.layer(Script::new([Err(Failure::tool(text).into())]));
    let call = Call::tool("login").arguments(json!({"tokens": values}));
    let _ = tools.oneshot(call).await;
    let line = lines.only();
    assert_eq!(line["tool"], "login", "a name stays readable");
    assert_eq!(line["error"], "[masked]");
}

/// If it were read again for each value and position, this text would take hours.
#[tokio::test]
async fn the_work_for_a_run_of_backslashes_is_bounded_whatever_the_values() {
    let values: Vec<String> = (0..64).map(|n| format!("value-{n}\\")).collect();
    let text = "\\".repeat(16 * 1024);
    for text in [text, "\\\\\\\"".repeat(4 * 1024)] {
        let line = line_of(json!({"passwords": values}), &text).await;
        assert!(line["error"].as_str().unwrap().starts_with('\\'));
    }
}

/// All strings that a call leaves in events and spans.
async fn events_of(run: impl AsyncFn()) -> String {
    let events = traced(run).await;
    events.iter().map(ToString::to_string).collect()
}

#[tokio::test(start_paused = true)]
async fn events_of_retry_and_reconnect_are_masked_and_redacted_while_the_call_is_polled() {
    const TEXT: &str = "CANARY-1 of customer K4711\nand\u{1b}[31m a second line";
    let events = events_of(async || {
        let connector = service_fn(async |(): ()| {
            let refuse = service_fn(async |_: Call| {
                Err::<Answer, BoxError>(Failure::connection(TEXT).into())
            });
            Ok::<_, io::Error>(Strict::new(refuse))
        });
        let lines = Lines::default();
        let log = CallLogLayer::new(lines.clone())
            .redact(|text| Cow::Owned(text.replace("K4711", "[customer]")));
        let tools = ServiceBuilder::new()
            .layer(log)
            .layer(IsErrorLayer::new())
            .layer(retry())
            .layer(ClassifyLayer::new())
            .layer(ReconnectLayer::new(()))
            .service(connector);
        let call = Call::read_only("login").arguments(json!({"token": "CANARY-1"}));
        let _ = tokio::time::timeout(MS(600_000), tools.oneshot(call)).await;
        let text = lines.texts().remove(0);
        assert!(
            !text.contains("CANARY") && !text.contains("K4711"),
            "{text}"
        );
    })
    .await;
    for event in ["attempt failed and will be repeated", "connection lost"] {
        assert!(events.contains(event), "no event {event:?}: {events}");
    }
    assert!(
        events.contains("[masked] of customer [customer]\\\\u{a}and\\\\u{1b}[31m"),
        "{events}"
    );
    assert!(
        !events.contains("CANARY") && !events.contains("K4711"),
        "{events}"
    );
}

#[tokio::test(start_paused = true)]
async fn a_stack_inside_a_tool_masks_what_the_call_around_it_masks() {
    let inner_lines = Lines::default();
    let inner = CallLogLayer::new(inner_lines.clone());
    let outer = service_fn(move |_: Call| {
        let failure = Failure::tool("no CANARY-1, no CANARY-2");
        let tools = inner.clone().layer(Script::new([Err(failure.into())]));
        tools.oneshot(Call::tool("inner").arguments(json!({"token": "CANARY-2"})))
    });
    let lines = Lines::default();
    let tools = CallLogLayer::new(lines.clone()).layer(outer);
    let call = Call::tool("outer").arguments(json!({"token": "CANARY-1"}));
    let _ = tools.oneshot(call).await;
    assert_eq!(inner_lines.only()["error"], "no [masked], no [masked]");
    // Of the tool's own calls the line outside knows nothing.
    assert_eq!(lines.only()["error"], "no [masked], no CANARY-2");
}

/// A stack without a log, in a task that no call polls.
async fn in_a_task(text: &'static str) {
    let tools = ServiceBuilder::new()
        .layer(IsErrorLayer::new())
        .layer(retry())
        .layer(ClassifyLayer::new())
        .service(Script::new([
            Err(Failure::rate_limited(None).with_message(text).into()),
            Ok(Answer::ok("x")),
        ]));
    let _ = tools.oneshot(Call::read_only("inner")).await;
}

#[tokio::test(start_paused = true)]
async fn events_of_a_spawned_task_are_masked_while_the_call_runs_and_a_little_longer() {
    let events = events_of(async || {
        let tool = service_fn(async |_: Call| {
            tokio::spawn(in_a_task("trying grobelwurz for 4712"))
                .await
                .unwrap();
            Ok::<_, BoxError>(Answer::ok("x"))
        });
        let log = CallLogLayer::new(Lines::default())
            .redact(|text| Cow::Owned(text.replace("4712", "[customer]")));
        let call = Call::tool("login").arguments(json!({"password": "grobelwurz"}));
        let _ = log.layer(tool).oneshot(call).await;
        in_a_task("tried grobelwurz for 4712").await;
    })
    .await;
    for masked in [
        "trying [masked] for [customer]",
        "tried [masked] for [customer]",
    ] {
        assert!(events.contains(masked), "no {masked:?}: {events}");
    }
    assert!(!events.contains("grobelwurz"), "{events}");
}

#[tokio::test]
async fn the_reason_for_the_end_is_masked_on_stderr_and_no_other_caller_reads_it() {
    let fatal = FatalLayer::new();
    let handle = fatal.handle();
    let lines = Lines::default();
    let tools = ServiceBuilder::new()
        .layer(CallLogLayer::new(lines.clone()))
        .layer(fatal.answering())
        .service(Script::new([Err(Failure::fatal("no quendelkraut")
            .because("quendelkraut again")
            .into())]));
    let call = Call::tool("login").arguments(json!({"password": "quendelkraut"}));
    let _ = tools.clone().oneshot(call).await;
    assert_eq!(
        format!("{:?}", handle.cause().unwrap()),
        "no [masked]: [masked] again"
    );
    assert_eq!(handle.wait().await.to_string(), "no [masked]");

    let refused = tools.oneshot(Call::tool("other")).await.unwrap_err();
    assert_eq!(refused.to_string(), "the tool server is out of service");
    let line = lines.all().remove(1);
    let error = line["error"].as_str().unwrap();
    assert!(error.ends_with("no [masked]: [masked] again"), "{error}");
}
