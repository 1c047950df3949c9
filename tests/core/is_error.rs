//! How a failure becomes a result for a model or an error for a host.

mod hidden;
mod unflagged;

use crate::support::{Answer, Call, Script, Strict};
use mcp_resilience::{
    call::Hints,
    call::{Flagged, ToolResult},
    classify::ClassifyLayer,
    failure::{BoxError, Class, Delivery, Failure, RpcError},
    is_error::{IsErrorLayer, META_KEY, detect},
    policy::Policy,
    retry::RetryLayer,
};
use serde_json::{Map, Value, json};
use std::{
    convert::Infallible,
    io::{self, Write},
    mem,
    sync::{Arc, Mutex},
    time::Duration,
};
use tower::{Layer, ServiceBuilder, ServiceExt, service_fn};

type Thrown = Result<Answer, BoxError>;

async fn seen_by(layer: IsErrorLayer, call: Call, inner: Thrown) -> Result<Answer, Failure> {
    let tools = layer.layer(Strict::new(Script::new([inner])));
    tools.oneshot(call).await
}

/// The answer to a failure that a model is to read.
async fn answer_to(call: Call, failure: impl Into<BoxError>) -> Answer {
    let answer = seen_by(IsErrorLayer::new(), call, Err(failure.into())).await;
    answer.unwrap()
}

/// The failure that a host is to read, and the error in it.
async fn error_to(call: Call, failure: impl Into<BoxError>) -> (Failure, RpcError) {
    let answer = seen_by(IsErrorLayer::new(), call, Err(failure.into())).await;
    let failure = answer.unwrap_err();
    let error = failure.rpc_error().unwrap().clone();
    (failure, error)
}

fn search() -> Call {
    Call::tool("search")
}

fn millis(wait: u64) -> Option<Duration> {
    Duration::from_millis(wait).into()
}

fn object(value: &Value) -> Option<Map<String, Value>> {
    value.as_object().cloned()
}

/// An answer with something in every field.
fn full(is_error: bool) -> Answer {
    Answer {
        texts: vec!["one".to_owned(), String::new(), "two\u{7}".to_owned()],
        structured: Some(json!({"page": 1, "error": "Errors of the week"})),
        meta: object(&json!({"trace": "7", META_KEY: "somebody's own"})),
        is_error,
        is_interim: false,
    }
}

#[tokio::test]
async fn a_result_passes_untouched_flagged_or_not() {
    let blank = Answer::flagged("");
    let answers = [full(false), full(true), Answer::default(), blank];
    for answer in answers {
        let passed = seen_by(IsErrorLayer::new(), search(), Ok(answer.clone())).await;
        assert_eq!(passed.unwrap(), answer);
    }
    let silent = service_fn(async |_: Call| Ok::<_, Infallible>(full(true)));
    let passed = IsErrorLayer::new().layer(silent).oneshot(search()).await;
    assert_eq!(passed.unwrap(), full(true));
}

#[tokio::test]
async fn a_tools_own_flagged_result_comes_back_untouched_from_above_the_border() {
    let mut coded = full(true);
    coded.structured = Some(json!({"code": "upstream_unknown", "error": "x", "more": [1]}));
    let crashed = Answer::flagged("Error executing tool search");
    for answer in [full(true), coded, crashed] {
        for call in [search(), Call::resource("a://b"), Call::prompt("review")] {
            let tools = ClassifyLayer::new().layer(Script::new([Ok(answer.clone())]));
            let passed = IsErrorLayer::new().layer(tools).oneshot(call).await;
            assert_eq!(passed.unwrap(), answer);
        }
    }
    let failure = Failure::fatal("gone").with_result(full(true));
    assert_eq!(answer_to(search(), failure).await, full(true));
}

#[tokio::test]
async fn a_result_of_another_type_below_gives_way_to_one_that_is_built() {
    let below = service_fn(async |_: Call| Ok::<_, BoxError>(Page { is_error: true }));
    let stack = ServiceBuilder::new()
        .layer(IsErrorLayer::new())
        .map_response(|_: Page| Answer::ok("a page"))
        .layer(ClassifyLayer::new())
        .service(below);
    let answer = stack.oneshot(search()).await.unwrap();
    let text = "Error executing tool search: failed without a message";
    assert_eq!((answer.text(), answer.is_error), (text, true));
}

/// A result that has no flag to build one with.
#[derive(Debug)]
struct Page {
    is_error: bool,
}

impl ToolResult for Page {
    fn is_error(&self) -> bool {
        self.is_error
    }

    fn flag(&mut self) {
        self.is_error = true;
    }

    fn from_failure(_: Flagged) -> Option<Self> {
        None
    }
}

#[tokio::test]
async fn a_kind_of_result_without_a_flag_leaves_the_failure_to_the_host() {
    let cases = [
        (Failure::tool("out of paper"), -32603, "out of paper"),
        (Failure::not_found("no such page"), -32602, "no such page"),
        (Failure::crash("bug"), -32603, "Error executing tool search"),
    ];
    for (failure, code, message) in cases {
        let class = failure.class();
        let slot = Mutex::new(Some(failure));
        let take = || slot.lock().unwrap().take().unwrap();
        let tools = service_fn(async |_: Call| Err::<Page, _>(take()));
        let answer = IsErrorLayer::new().layer(tools).oneshot(search()).await;
        let failure = answer.unwrap_err();
        let error = RpcError::new(code, message, None);
        assert_eq!(failure.class(), class);
        assert_eq!(failure.rpc_error(), Some(&error));
    }
}

#[tokio::test]
async fn the_model_reads_what_failed_and_what_to_do() {
    let title = "expected a string, got a number";
    let read_only = || Call::read_only("search");
    let sleepy = || Failure::timeout("no answer within 5 s");
    #[rustfmt::skip]
    let cases = [
        (search(), Failure::tool("No book titled 'Nothing' in the catalog."), "No book titled 'Nothing' in the catalog."),
        (search(), Failure::tool("disk full"), "disk full"),
        (search(), Failure::invalid_input("title", title), "argument `title`: expected a string, got a number. Correct the argument `title` and call it again."),
        (search(), Failure::new(Class::InvalidInput, "which?"), "which? Correct the arguments and call it again."),
        (search(), Failure::blocked("10.0.0.1 is private"), "10.0.0.1 is private"),
        (search(), Failure::not_found("no such row"), "no such row"),
        (search(), Failure::unauthorized("bad key"), "bad key. Only the operator of the server can change that."),
        (search(), Failure::disabled("maintenance"), "maintenance. Only the operator of the server can change that."),
        (search(), Failure::forbidden("anti-bot"), "anti-bot"),
        (search(), Failure::forbidden("anti-bot").instead("fetch_by_proxy"), "anti-bot. Use the tool fetch_by_proxy instead."),
        (search(), Failure::rate_limited(millis(29_001)).before_running(), "too many calls. Wait 30 s before calling it again."),
        (search(), Failure::rate_limited(millis(30_000)).before_running().with_message("slow down!"), "slow down! Wait 30 s before calling it again."),
        (search(), Failure::rate_limited(millis(0)).before_running(), "too many calls. Try again later."),
        (search(), Failure::at_capacity(None).before_running(), "too many calls at once. Try again later."),
        (search(), Failure::unavailable(millis(1)).before_running(), "the service is unavailable for now. Wait 1 s before calling it again."),
        (search(), Failure::upstream("bad gateway"), "bad gateway. It has run; verify before repeating."),
        (search(), Failure::invalid_output("it is HTML"), "it is HTML. It has run; verify before repeating."),
        (search(), Failure::session_lost("").before_running(), "the server no longer knows the session. Try again later."),
        (search(), Failure::connection("reset"), "reset. It may have run; verify before repeating."),
        (search(), sleepy(), "no answer within 5 s. It may have run; verify before repeating."),
        (read_only(), sleepy(), "no answer within 5 s. Try again later."),
        (search(), sleepy().with_delivery(Delivery::NotSent), "no answer within 5 s. Try again later."),
        (search(), Failure::connection("refused").with_delivery(Delivery::Refused), "refused. Try again later."),
    ];
    for (call, failure, expected) in cases {
        let case = format!("{failure:?}");
        let answer = answer_to(call, failure).await;
        let text = format!("Error executing tool search: {expected}");
        assert_eq!(answer.texts, [text], "{case}");
        assert!(answer.is_error && !answer.is_interim, "{case}");
    }
}

#[tokio::test]
async fn a_call_that_ran_is_not_advised_to_be_made_again() {
    let failure = Failure::timeout("no receipt").with_delivery(Delivery::Executed);
    let answer = answer_to(Call::tool("transfer_money"), failure).await;
    assert!(answer.text().contains("verify"), "{}", answer.text());
}

#[tokio::test]
async fn waiting_is_not_advised_where_it_does_not_help() {
    let cases = [
        Failure::rate_limited(None)
            .before_running()
            .with_retryable(false),
        Failure::rate_limited(millis(9000))
            .before_running()
            .with_retryable(false),
        Failure::invalid_input("isbn", "too short").with_retry_after(millis(9000)),
    ];
    for failure in cases {
        let case = format!("{failure:?}");
        let text = answer_to(search(), failure).await.texts.concat();
        let is_advised = text.contains("Wait") || text.contains("later");
        assert!(!is_advised, "{case}: {text}");
    }
}

#[tokio::test]
async fn a_repeat_that_was_refused_says_why_and_attempts_are_counted() {
    let waits = || [Duration::ZERO; 2].into_iter();
    let retry = RetryLayer::builder()
        .policy(Policy::new().waits(waits))
        .build()
        .unwrap();
    let limited = || Err(Failure::rate_limited(None).before_running().into());
    let lost = vec![Err(Failure::upstream("bad gateway").into())];
    let refused = vec![limited(), limited(), limited()];
    #[rustfmt::skip]
    let cases = [
        (refused, 3, "Error executing tool search: too many calls. Try again later."),
        (lost, 1, "Error executing tool search: bad gateway. It has run; verify before repeating."),
    ];
    for (steps, attempts, text) in cases {
        let layers = (IsErrorLayer::new(), retry.clone());
        let tools = layers.layer(Strict::new(Script::new(steps)));
        let answer = tools.oneshot(search()).await.unwrap();
        assert_eq!(answer.text(), text);
        assert_eq!(answer.structured.unwrap()["attempts"], attempts);
    }
}

#[tokio::test]
async fn the_text_is_bounded_escaped_and_never_empty() {
    for class in Class::all() {
        let failure = Failure::new(class, " \n ").into();
        let seen = seen_by(IsErrorLayer::new(), search(), Err(failure)).await;
        let Ok(answer) = seen else { continue };
        let rest = answer.text().strip_prefix("Error executing tool search");
        let says = rest.unwrap().trim_start_matches([':', ' ', '(']);
        assert!(says.starts_with(char::is_alphanumeric), "{class}: {says}");
    }
    let raw = "\u{1b}[31mred\u{0}\u{7}\r\u{7f}\u{9b}2J".to_owned();
    for message in [raw.clone(), raw.repeat(4000), "é💥\n".repeat(4000)] {
        let call = Call::tool(&message);
        let failure = Failure::tool(message.clone()).instead(message);
        let answer = answer_to(call, failure).await;
        let envelope = answer.structured.as_ref().unwrap();
        for text in [answer.text(), envelope["error"].as_str().unwrap()] {
            let is_control = |c: &char| c.is_control() && !matches!(c, '\n' | '\t');
            assert!(text.len() < 8 * 1024, "{} bytes", text.len());
            assert_eq!(text.chars().find(is_control), None, "in {text:.80}");
            assert!(text.contains("red") || text.contains('é'), "{text:.80}");
        }
    }
}

#[tokio::test]
async fn the_envelope_says_it_to_programs_where_no_schema_forbids() {
    type Made = fn() -> Failure;
    let read_only = || Call::read_only("search");
    #[rustfmt::skip]
    let cases: [(Call, Made, Value); 10] = [
        (search(), || Failure::rate_limited(millis(1200)).before_running().with_code("RATE").with_status(429), json!({"code": "RATE", "error": "too many calls", "status": 429, "retryAfter": 2, "retryable": true, "attempts": 1})),
        (search(), || Failure::rate_limited(millis(0)).before_running(), json!({"code": "rate_limited", "error": "too many calls", "retryAfter": 0, "retryable": true, "attempts": 1})),
        (search(), || Failure::tool("disk full").with_code(7), json!({"code": 7, "error": "disk full", "retryable": false, "attempts": 1})),
        (search(), || Failure::tool("busy").with_retryable(true), json!({"code": "tool", "error": "busy", "retryable": true, "attempts": 1})),
        (search(), || Failure::invalid_input("a", "b"), json!({"code": "bad_request", "error": "argument `a`: b", "retryable": false, "attempts": 1})),
        (search(), || Failure::upstream("502"), json!({"code": "upstream_error", "error": "502", "retryable": false, "attempts": 1})),
        (read_only(), || Failure::upstream("502"), json!({"code": "upstream_error", "error": "502", "retryable": true, "attempts": 1})),
        (read_only(), || Failure::upstream("502").with_retryable(false), json!({"code": "upstream_error", "error": "502", "retryable": false, "attempts": 1})),
        (search(), || Failure::connection("reset"), json!({"code": "connection", "error": "reset", "retryable": false, "attempts": 1})),
        (search(), || Failure::crash("hunter2").with_message("hunter2"), json!({"code": "internal_error", "error": "Error executing tool search", "retryable": false, "attempts": 1})),
    ];
    for (mut call, failure, envelope) in cases {
        let answer = answer_to(call.clone(), failure()).await;
        assert_eq!(answer.structured, Some(envelope.clone()));
        assert_eq!(answer.meta, None, "{envelope}");

        let declared = call.hints.output_schema(true);
        // It is unknown whether there is a schema.
        let unknown = Hints::new().read_only(call.hints.is_read_only());
        for hints in [declared, unknown] {
            call.hints = hints;
            let answer = answer_to(call.clone(), failure()).await;
            assert_eq!(answer.structured, None, "{envelope}");
            assert_eq!(answer.meta, object(&json!({META_KEY: envelope})));
        }
    }
}

#[tokio::test]
async fn a_json_rpc_error_and_what_only_the_host_can_handle_pass_as_errors() {
    for class in Class::all() {
        let own = RpcError::new(-32042, "open a browser", Some(json!({"elicitations": [1]})));
        let failure = Failure::new(class, "said").with_rpc_error(own.clone());
        let (passed, error) = error_to(search(), failure).await;
        assert_eq!((passed.class(), error), (class, own));
    }
    let thrown = RpcError::new(-32602, "No book titled 'Nothing' in the catalog.", None);
    let tools = ClassifyLayer::new().layer(Script::new([Err(thrown.clone().into())]));
    let failure = IsErrorLayer::new()
        .layer(tools)
        .oneshot(search())
        .await
        .unwrap_err();
    assert_eq!(failure.rpc_error(), Some(&thrown));

    for class in [Class::Protocol, Class::Cancelled, Class::Fatal] {
        let (passed, error) = error_to(search(), Failure::new(class, "said")).await;
        assert_eq!(passed.class(), class);
        assert_eq!(error, RpcError::new(-32603, "said", None), "{class}");
    }
}

#[tokio::test]
async fn resources_and_prompts_have_the_protocol_way_alone() {
    let reset = || io::Error::from(io::ErrorKind::ConnectionReset);
    let bug = || BoxError::from("no column surname in table");
    let missing = "No book titled 'Nothing' in the catalog.";
    let closed = "closed on Mondays";
    let book = || Call::resource("books://Nothing");
    let uri = || Some(json!({"uri": "books://Nothing"}));
    let reading = "Error reading resource books://Nothing";
    let wait = Failure::rate_limited(millis(6200))
        .before_running()
        .with_message("slow down");
    #[rustfmt::skip]
    let cases: Vec<(Call, BoxError, i32, &str, Option<Value>)> = vec![
        (book(), Failure::not_found(missing).into(), -32602, missing, uri()),
        (book(), Failure::not_found("").into(), -32602, reading, uri()),
        (book(), Failure::tool(closed).into(), -32603, closed, None),
        (book(), Failure::new(Class::InvalidInput, closed).into(), -32602, closed, None),
        (book(), wait.into(), -32603, "slow down", Some(json!({"retryAfter": 7}))),
        (book(), Failure::crash(bug()).with_message("hunter2").into(), -32603, reading, None),
        (book(), bug(), -32603, reading, None),
        (book(), reset().into(), -32603, reading, None),
        (Call::prompt("review"), Failure::not_found(missing).into(), -32602, missing, Some(json!({"prompt": "review"}))),
        (Call::prompt("review"), Failure::tool(closed).into(), -32603, closed, None),
        (Call::prompt("review"), bug(), -32603, "Error getting prompt review", None),
    ];
    for (call, thrown, code, message, data) in cases {
        let case = format!("{}: {thrown}", call.name);
        let (_, error) = error_to(call, thrown).await;
        assert_eq!(error, RpcError::new(code, message, data), "{case}");
    }
}

fn unflagged(structured: &Value, text: &str) -> Answer {
    let structured = Some(structured.clone()).filter(|value| !value.is_null());
    Answer {
        structured,
        ..Answer::ok(text)
    }
}

async fn flags(layer: &IsErrorLayer, call: Call, answer: Answer) -> bool {
    let seen = seen_by(layer.clone(), call, Ok(answer.clone())).await;
    let mut seen = seen.unwrap();
    let flag = mem::take(&mut seen.is_error);
    assert_eq!(seen, answer, "nothing but the flag changes");
    flag
}

#[tokio::test]
async fn an_unflagged_result_is_flagged_only_if_it_is_unmistakably_a_failure() {
    let none = Value::Null;
    let [default, trusting] = [IsErrorLayer::new(), IsErrorLayer::new().trust_unflagged()];
    let in_text = trusting.clone().detect(detect::failure_in_text);
    let empty = trusting.clone().detect(detect::empty_content);
    let own = trusting
        .clone()
        .detect(|result| result.texts().any(|text| text == "UNKNOWN"));
    let again = trusting.clone().detect(detect::envelope);
    let envelope = json!({"code": "RATE_LIMITED", "error": "slow"});
    let with_message = json!({"code": "not_found", "message": "no such row", "more": 1});
    let large = format!("{{\"ok\": false, \"x\": \"{}\"}}", "x".repeat(16 * 1024));
    #[rustfmt::skip]
    let cases = [
        (&default, &envelope, "x", true), (&default, &with_message, "", true),
        (&trusting, &envelope, "x", false), (&again, &envelope, "x", true),
        (&default, &json!({"error": "Errors of the week", "pages": 3}), "x", false),
        (&default, &json!({"code": "rate_limited"}), "x", false),
        (&default, &json!({"code": "rate_limited", "error": " "}), "x", false),
        (&default, &json!({"code": "rate_limited", "error": {"a": 1}}), "x", false),
        (&default, &json!({"code": "FR", "error": "none", "message": "Bonjour"}), "x", false),
        (&default, &json!({"code": 429, "error": "slow"}), "x", false),
        (&default, &json!({"book": {"code": "rate_limited", "error": "a novel"}}), "x", false),
        (&default, &json!([{"code": "rate_limited", "error": "slow"}]), "x", false),
        (&default, &none, "", false),
        (&default, &none, "API rate limit exceeded", false),
        (&default, &none, r#"{"code": "rate_limited", "error": "slow"}"#, false),
        (&in_text, &none, r#"{"code": "rate_limited", "error": "slow"}"#, true),
        (&in_text, &none, r#" {"success": false}"#, true), (&in_text, &none, r#"{"ok": false}"#, true),
        (&in_text, &none, r#"{"isError": true}"#, true), (&in_text, &none, r#"{"status": "error"}"#, true),
        (&in_text, &none, r#"{"ok": true, "status": "fine"}"#, false),
        (&in_text, &none, r#"{"error": "Errors of the week"}"#, false),
        (&in_text, &none, r#"so: {"ok": false}"#, false), (&in_text, &none, &large, false),
        (&empty, &none, " \n", true), (&empty, &none, "x", false), (&empty, &json!({}), "", false),
        (&own, &none, "UNKNOWN", true), (&own, &none, "KNOWN", false),
    ];
    for (layer, structured, text, expected) in cases {
        let case = format!("{layer:?}: {structured} {text:.80}");
        let answer = unflagged(structured, text);
        let mut interim = answer.clone();
        interim.is_interim = true;
        let elsewhere = flags(layer, search(), interim).await;
        let in_resource = flags(layer, Call::resource("a://b"), answer.clone()).await;
        assert!(!elsewhere && !in_resource, "{case}");
        assert_eq!(flags(layer, search(), answer).await, expected, "{case}");
    }
    // A further detector does not replace the default one.
    let both = default.detect(detect::empty_content);
    assert!(flags(&both, search(), unflagged(&envelope, "x")).await);
    assert!(flags(&both, search(), Answer::default()).await);
}

/// Keeps what is logged while the guard lives.
#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<u8>>>);

impl Write for Log {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[tokio::test]
async fn the_model_gets_the_id_of_a_crash_and_the_log_has_the_rest() {
    let panicking = service_fn(async |call: Call| -> Thrown {
        assert!(call.name != "search", "no column surname in table");
        let envelope = json!({"code": "forbidden", "error": "hunter3"});
        Ok(unflagged(&envelope, ""))
    });
    let tools = IsErrorLayer::new().layer(ClassifyLayer::new().layer(panicking));
    let both = async || {
        let crash = tools.clone().oneshot(search()).await.unwrap();
        let tools = tools.clone();
        (
            crash,
            tools.oneshot(Call::tool("quote_price")).await.unwrap(),
        )
    };
    let log = Log::default();
    let writer = log.clone();
    let subscriber = tracing_subscriber::fmt().with_writer(move || writer.clone());
    let guard = tracing::subscriber::set_default(subscriber.finish());
    // With a single subscriber, a thread without one may disable an event's call site for all
    // threads. A second subscriber makes `tracing` ask again.
    let second = tracing::Dispatch::new(tracing_subscriber::fmt().with_writer(io::sink).finish());
    both().await;
    tracing::callsite::rebuild_interest_cache();
    log.0.lock().unwrap().clear();
    let (answer, quiet) = both().await;
    drop((guard, second));

    assert!(answer.is_error && quiet.is_error);
    assert!(!format!("{answer:?}").contains("surname"), "{answer:?}");
    let rest = answer.text().strip_prefix("Error executing tool search");
    let id = rest.and_then(|rest| rest.strip_prefix(" (call ")?.strip_suffix(')'));
    let id = id.unwrap();
    let is_hex = id.bytes().all(|byte| byte.is_ascii_hexdigit());
    assert!(is_hex && id.len() >= 8, "{id}");
    let log = String::from_utf8(log.0.lock().unwrap().clone()).unwrap();
    let [crash, warning] = *log.lines().collect::<Vec<_>>() else {
        panic!("two lines: {log}")
    };
    for part in ["ERROR", "no column surname in table", id] {
        assert!(crash.contains(part), "{part}: {crash}");
    }
    assert!(warning.contains("WARN"), "{warning}");
    assert!(warning.contains("quote_price"), "{warning}");
}
