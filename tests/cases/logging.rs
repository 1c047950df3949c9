//! The log of a call, and that it never affects the call.

use crate::{
    stack::{MS, SECOND, fails, fine, lost, preset, retry, see, see_in},
    support::{Answer, Call, Lines, Script},
};
use mcp_resilience::{
    Failure,
    call_log::{ArgumentLogging, CallLogLayer, JsonLines, Record, Sink},
};
use serde_json::{Value, json};
use std::{
    borrow::Cow,
    io::{self, ErrorKind, Write},
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering::Relaxed},
    },
    time::Duration,
};
use tower::{BoxError, Layer, ServiceExt, service_fn};

/// Masks what has no name that speaks of a secret.
fn redact(text: &str) -> Cow<'_, str> {
    if text.contains("4711-secret") {
        Cow::Owned(text.replace("4711-secret", "[number]"))
    } else {
        Cow::Borrowed(text)
    }
}

#[tokio::test(start_paused = true)]
async fn case_072_secrets_are_masked_in_the_log_and_reach_the_tool() {
    let arguments = json!({
        "auth": "Bearer abc-hidden",
        "nested": {"api_key": "k-hidden", "list": [{"X-Api-Key": "x-hidden"}]},
        "accessToken": "t-hidden", "client-secret": "c-hidden", "PASSWORD": "p-hidden",
        "note": "my number is 4711-secret",
    });
    let lines = Lines::default();
    let got = Arc::<Mutex<Vec<Value>>>::default();
    let tool = service_fn(|call: Call| {
        got.lock().unwrap().push(call.arguments);
        async { Err::<Answer, _>(BoxError::from("no account 4711-secret")) }
    });
    let log = CallLogLayer::new(lines.clone()).redact(redact);
    let stack = preset(&lines, retry()).log(log).build().unwrap();
    let call = Call::tool("set_cred").arguments(arguments.clone());
    stack.layer(tool).oneshot(call).await.unwrap();
    let text = lines.texts().remove(0);
    assert!(!text.contains("hidden"), "{text}");
    assert!(!text.contains("4711"), "{text}");
    assert!(text.contains("my number is [number]"), "{text}");
    assert!(text.contains("no account [number]"), "{text}");
    assert_eq!(*got.lock().unwrap(), [arguments], "the original");
}

#[tokio::test(start_paused = true)]
async fn case_136_a_masked_argument_is_masked_in_the_error_that_quotes_it() {
    // Only the arguments show that the second text contains a secret.
    for (text, logged) in [
        (
            "login failed: invalid token CANARY-123",
            "login failed: invalid token [masked]",
        ),
        (
            "there is no user for CANARY-123",
            "there is no user for [masked]",
        ),
    ] {
        for step in [Ok(Answer::flagged(text)), fails(Failure::tool(text))] {
            let call = Call::tool("login").arguments(json!({"token": "CANARY-123"}));
            let seen = see(call, [step]).await;
            assert_eq!(seen.line["arguments"], json!({"token": "[masked]"}));
            assert_eq!(seen.line["error"], logged);
            assert!(!seen.line.to_string().contains("CANARY"), "{}", seen.line);
            // The caller sent it, and reads the tool's own words.
            let answer = seen.flagged().text();
            assert!(answer.contains(text), "{answer}");
        }
    }
}

/// A writer that goes wrong in one way for ever.
#[derive(Clone)]
struct Broken {
    how: Option<ErrorKind>,
    asked: Arc<AtomicUsize>,
}

impl Write for Broken {
    fn write(&mut self, _: &[u8]) -> io::Result<usize> {
        self.asked.fetch_add(1, Relaxed);
        match self.how {
            Some(kind) => Err(kind.into()),
            None => panic!("a writer that panics"),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[tokio::test]
async fn case_075_a_log_that_cannot_be_written_costs_no_call_and_is_counted() {
    const CALLS: usize = 20;
    for how in [
        Some(ErrorKind::StorageFull),
        Some(ErrorKind::BrokenPipe),
        Some(ErrorKind::WriteZero),
        None,
    ] {
        let asked = Arc::<AtomicUsize>::default();
        let sink = JsonLines::new(Broken {
            how,
            asked: Arc::clone(&asked),
        });
        let log = CallLogLayer::new(sink.clone());
        let stack = preset(&Lines::default(), retry()).log(log).build().unwrap();
        for _ in 0..CALLS {
            let tool = Script::new([fine()]);
            let answer = stack.layer(tool).oneshot(Call::tool("ask")).await.unwrap();
            assert_eq!(answer, Answer::ok("fine"));
        }
        sink.flush(Duration::from_secs(300));
        assert_eq!(sink.lost(), CALLS as u64, "{how:?}");
        assert_eq!(asked.load(Relaxed), CALLS, "no endless tries");
    }
}

#[tokio::test(start_paused = true)]
async fn case_075_a_sink_of_the_users_that_panics_costs_no_call() {
    #[derive(Debug)]
    struct Panics;
    impl Sink for Panics {
        fn write(&self, _: &Record<'_>) {
            panic!("a sink that panics");
        }
    }
    let log = CallLogLayer::new(Panics);
    let stack = preset(&Lines::default(), retry()).log(log).build().unwrap();
    for step in [fine(), lost()] {
        let is_fine = step.is_ok();
        let tool = Script::new([step]);
        let answer = stack.layer(tool.clone()).oneshot(Call::tool("ask")).await;
        assert_eq!(answer.unwrap().is_error, !is_fine);
        assert_eq!(tool.calls().len(), 1);
    }
}

#[tokio::test(start_paused = true)]
async fn case_076_a_flagged_result_is_a_failed_call() {
    for answer in [
        Answer::flagged("nope"),
        Answer::flagged(""),
        Answer::envelope(json!({"success": true})),
    ] {
        let seen = see(Call::tool("ask"), [Ok(answer.clone())]).await;
        assert_eq!(seen.flagged(), &answer);
        // Also where nothing else of the stack is there.
        let lines = Lines::default();
        let tool = Script::new([Ok(answer)]);
        let logged = CallLogLayer::new(lines.clone()).layer(tool);
        logged.oneshot(Call::tool("ask")).await.unwrap();
        assert_eq!(lines.only()["outcome"], "failed");
        assert_eq!(lines.only()["is_error"], true);
    }
}

#[tokio::test(start_paused = true)]
async fn case_077_a_timeout_is_logged_as_what_it_is() {
    let hangs = Script::timed([(86_400 * SECOND, fine())]);
    let once = |lines: &Lines| preset(lines, retry()).attempt_timeout(30 * SECOND);
    let seen = see_in(once, Call::tool("ask"), hangs).await;
    seen.flagged();
    assert_eq!(seen.line["class"], "timeout");
    assert_eq!(seen.line["latency_ms"], 30_000);
    let error = seen.line["error"].as_str().unwrap();
    assert!(!error.is_empty());
    assert_eq!(seen.line["level"], "WARN");
}

#[tokio::test(start_paused = true)]
async fn case_079_latency_is_the_whole_call_and_the_waits_are_told_apart() {
    let tool = Script::timed([(60 * MS, lost()), (20 * MS, fine())]);
    let seen = see_in(|lines| preset(lines, retry()), Call::read_only("ask"), tool).await;
    seen.assert_fine();
    assert_eq!(seen.line["latency_ms"], 180);
    assert_eq!(seen.line["waited_ms"], 100);
    assert_eq!(seen.line["attempts"], 2);
    assert_eq!(seen.line["retries"][0]["wait_ms"], 100);
}

#[tokio::test(start_paused = true)]
async fn case_081_numbers_arrive_digit_for_digit_at_the_tool_in_the_log_and_in_the_result() {
    const SENT: &str = r#"{"a":9007199254740993,"b":18446744073709551615,"c":-9223372036854775808,"d":1.0,"f":0.1}"#;
    let arguments: Value = serde_json::from_str(SENT).unwrap();
    let lines = Lines::default();
    let tool = service_fn(|call: Call| {
        assert_eq!(call.arguments.to_string(), SENT);
        let answer = Answer {
            structured: Some(json!({"id": 1_915_883_588_174_806_058_u64})),
            ..Answer::ok("fine")
        };
        async { Ok::<_, BoxError>(answer) }
    });
    let log = CallLogLayer::new(lines.clone()).arguments(ArgumentLogging::Raw);
    let stack = preset(&lines, retry()).log(log).build().unwrap();
    let call = Call::tool("get").arguments(arguments);
    let answer = stack.layer(tool).oneshot(call).await.unwrap();
    let structured = answer.structured.unwrap().to_string();
    assert_eq!(structured, r#"{"id":1915883588174806058}"#);
    let text = lines.texts().remove(0);
    assert!(text.contains(&format!(r#""arguments":{SENT}"#)), "{text}");
    // A number that the type cannot hold is refused, and not rounded.
    serde_json::from_str::<Value>(r#"{"e":1e400}"#).unwrap_err();
}

#[tokio::test(start_paused = true)]
async fn case_082_numbers_that_json_lacks_break_no_line_and_no_call() {
    for odd in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
        let call = || Call::tool("ask").arguments(json!({"x": odd, "list": [odd]}));
        let answer = Answer {
            structured: Some(json!({"mean": odd})),
            ..Answer::ok("fine")
        };
        let seen = see(call(), [Ok(answer)]).await;
        assert!(seen.answer.is_ok());
        assert_eq!(seen.line["outcome"], "success");
        assert_eq!(seen.line["arguments"], json!({"x": null, "list": [null]}));
        if odd == f64::INFINITY {
            // A hint that no wait is long enough for.
            continue;
        }
        // An invalid hint.
        let failure = json!({"code": "rate_limited", "error": "x", "retryAfter": odd.to_string()});
        let seen = see(call(), [Ok(Answer::envelope(failure)), fine()]).await;
        seen.assert_fine();
        assert_eq!(seen.line["waited_ms"], 100);
    }
    let longest = Failure::rate_limited(Some(Duration::MAX)).before_running();
    let seen = see(Call::tool("ask"), [fails(longest)]).await;
    assert!(seen.line["retry_after_ms"].is_number(), "{}", seen.line);
}

#[tokio::test(start_paused = true)]
async fn case_083_invalid_text_breaks_no_line_after_the_tool_has_run() {
    // Half of a pair is no string in Rust; read as bytes it becomes the mark for what is none.
    let page = String::from_utf8_lossy(b"before \xed\xa0\xbd after").into_owned();
    let odd = [
        page.as_str(),
        "\u{0}\u{7f}\u{85} end",
        "one\u{2028}two\u{2029}three",
        "\u{fffd}\u{ffff}",
    ];
    for text in odd {
        let call = Call::tool(text).arguments(json!({text: text}));
        let seen = see(call.clone(), [Ok(Answer::ok(text))]).await;
        assert_eq!(seen.answer.unwrap(), Answer::ok(text));
        assert_eq!(seen.line["outcome"], "success");
        assert_eq!(seen.line["arguments"], json!({text: text}));
        let seen = see(call, [Ok(Answer::flagged(text))]).await;
        assert_eq!(seen.line["error"], text);
    }
    // Raw text that says half of one is refused by the parser, before any tool runs.
    serde_json::from_str::<Value>(r#"{"text":"\ud83d"}"#).unwrap_err();
}
