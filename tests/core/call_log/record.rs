//! The records that a sink of the user gets.

use super::{MS, retry};
use crate::support::{Answer, Call, Lines, Script};
use mcp_resilience::{
    Class, Delivery, Failure,
    call::Method,
    call_log::{CallLogLayer, Outcome, Record, Sink},
    classify::ClassifyLayer,
    failure::{Code, Stopped},
    is_error::IsErrorLayer,
};
use serde_json::{Value, json};
use std::{
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering::Relaxed},
    },
    time::{Duration, SystemTime},
};
use tower::{BoxError, Layer, ServiceBuilder, ServiceExt};
use tracing::Level;

/// Looks at each record once.
#[derive(Clone)]
struct Looks<F>(F, Arc<AtomicU32>);

impl<F: Fn(&Record<'_>) + Send + Sync> Sink for Looks<F> {
    fn write(&self, record: &Record<'_>) {
        // Counted first and last: a panic in here would be lost.
        self.1.fetch_add(1, Relaxed);
        (self.0)(record);
        self.1.fetch_add(1, Relaxed);
    }
}

/// Makes one call, and passes its record to a function.
async fn look(
    call: Call,
    steps: impl IntoIterator<Item = (Duration, Result<Answer, BoxError>)>,
    looks: impl Fn(&Record<'_>) + Send + Sync + 'static,
) {
    let count = Arc::new(AtomicU32::new(0));
    let sink = Looks(looks, Arc::clone(&count));
    let tools = ServiceBuilder::new()
        .layer(CallLogLayer::new(sink))
        .layer(IsErrorLayer::new())
        .layer(retry())
        .layer(ClassifyLayer::new())
        .service(Script::timed(steps));
    let _ = tools.oneshot(call).await;
    assert_eq!(count.load(Relaxed), 2, "looked at once, to the end");
}

fn full() -> Call {
    let mut call = Call::tool("pay").arguments(json!({"pin": 1234, "to": "Emma"}));
    call.request_id = Some(json!("r\"1"));
    call.session_id = Some("b7c1".to_owned());
    let trace = "00-0af7651916cd43dd8448eb211c80319c-00f067aa0ba902b7-01";
    call.meta.insert("traceparent".to_owned(), json!(trace));
    call
}

#[tokio::test(start_paused = true)]
async fn a_record_tells_all_that_stands_on_the_line() {
    let busy = Failure::rate_limited(Some(MS(300)))
        .before_running()
        .with_code(429);
    let late = Failure::timeout("no answer from the bank")
        .with_code("bank_timeout")
        .with_retry_after(MS(1500))
        .because(std::io::Error::other("socket closed"));
    let steps = [(MS(10), Err(busy.into())), (MS(20), Err(late.into()))];
    look(full(), steps, |record| {
        assert!(record.ended() <= SystemTime::UNIX_EPOCH + Duration::from_secs(1 << 40));
        assert_eq!(record.level(), Level::WARN);
        assert_eq!(record.method(), Method::CallTool);
        assert_eq!(record.name(), "pay");
        let arguments = r#"{"pin":"[masked]","to":"Emma"}"#;
        assert_eq!(record.arguments(), Some(arguments));
        assert_eq!(record.outcome(), Outcome::Failed);
        assert_eq!(record.is_error(), Some(true));
        assert_eq!(record.attempts(), 2);
        assert_eq!(record.latency(), MS(330));
        assert_eq!(record.waited(), MS(300));
        assert_eq!(record.class(), Some(Class::Timeout));
        assert_eq!(record.code(), Some(&Code::from("bank_timeout")));
        assert_eq!(record.delivery(), Some(Delivery::Unknown));
        assert_eq!(record.retry_after(), Some(MS(1500)));
        assert_eq!(record.stopped(), Some(Stopped::MayHaveRun));
        let [retried] = record.retries() else {
            panic!("{:?}", record.retries())
        };
        assert_eq!(retried.class(), Class::RateLimited);
        assert_eq!(retried.code(), Some(&Code::from(429)));
        assert_eq!(retried.wait(), MS(300));
        assert!(!record.was_unflagged());
        let error = "no answer from the bank: socket closed";
        assert_eq!(record.error(), Some(error));
        assert_eq!(record.request_id(), Some(r#""r\"1""#));
        assert_eq!(record.session_id(), Some("b7c1"));
        let trace = "0af7651916cd43dd8448eb211c80319c";
        assert_eq!(record.trace_id(), Some(trace));
        let line: Value = serde_json::from_str(&record.to_json()).unwrap();
        assert_eq!(line["call_id"], record.call_id().to_string());
        assert_eq!(record.call_id().to_string().len(), 16);
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_record_of_a_success_says_nothing_of_a_failure() {
    let steps = [(Duration::ZERO, Ok(Answer::ok("12.50")))];
    look(Call::resource("books://Dune"), steps, |record| {
        assert_eq!(record.level(), Level::INFO);
        assert_eq!(record.method(), Method::ReadResource);
        assert_eq!(record.outcome(), Outcome::Success);
        assert_eq!(record.is_error(), None, "a resource has no flag");
        assert_eq!(record.attempts(), 1);
        assert_eq!(record.latency(), Duration::ZERO);
        assert_eq!((record.class(), record.code()), (None, None));
        assert_eq!((record.delivery(), record.retry_after()), (None, None));
        assert_eq!((record.stopped(), record.error()), (None, None));
        assert!(record.retries().is_empty());
        assert_eq!((record.request_id(), record.session_id()), (None, None));
        assert_eq!(record.trace_id(), None);
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_record_knows_that_the_flag_was_set_here() {
    let answer = Answer {
        is_error: false,
        ..Answer::envelope(json!({"code": "rate_limited", "error": "slow down"}))
    };
    look(Call::tool("t"), [(Duration::ZERO, Ok(answer))], |record| {
        assert!(record.was_unflagged());
        assert_eq!(record.class(), Some(Class::RateLimited));
    })
    .await;
}

#[tokio::test]
async fn odd_ids_of_requests_stand_there_as_numbers_or_strings() {
    let long = "é".repeat(300);
    let cases = [
        (json!(0), json!(0)),
        (json!(-7), json!(-7)),
        (json!(1.5), json!(1.5)),
        (json!(u64::MAX), json!(u64::MAX)),
        (json!(""), json!("")),
        (json!("7"), json!("7")),
        (json!("\"\\\u{0}\n"), json!("\"\\\u{0}\n")),
        (json!(true), json!("true")),
        (json!(null), json!("null")),
        (json!([1, "a"]), json!("[1,\"a\"]")),
        (json!({"a": 1}), json!("{\"a\":1}")),
    ];
    for (id, expected) in cases {
        let (text, line) = line_of(&id).await;
        assert_eq!(line["request_id"], expected, "{id}: {text}");
    }
    let (_, line) = line_of(&json!(long)).await;
    let shown = line["request_id"].as_str().unwrap();
    assert!(shown.len() <= 256 && shown.ends_with('…'), "{shown}");
    assert!(long.starts_with(shown.trim_end_matches('…')), "{shown}");
}

async fn line_of(id: &Value) -> (String, Value) {
    let lines = Lines::default();
    let tools = CallLogLayer::new(lines.clone()).layer(Script::new([Ok(Answer::ok("x"))]));
    let mut call = Call::tool("t");
    call.request_id = Some(id.clone());
    tools.oneshot(call).await.unwrap();
    (lines.texts().remove(0), lines.only())
}

#[tokio::test(start_paused = true)]
async fn only_a_dropped_call_has_the_outcome_cancelled() {
    let cancelled = || Failure::cancelled("the user changed their mind");
    let of_host = Failure::protocol(-32800, "Request cancelled", None);
    for failure in [cancelled(), of_host, cancelled().because("hung up")] {
        let steps = [(Duration::ZERO, Err(failure.into()))];
        look(Call::tool("t"), steps, |record| {
            assert_eq!(record.outcome(), Outcome::Failed);
        })
        .await;
    }
    let lines = Lines::default();
    let slow = Script::timed([(MS(100), Err(cancelled().into()))]);
    let tools = CallLogLayer::new(lines.clone()).layer(slow);
    let call = tokio::time::timeout(MS(50), tools.oneshot(Call::tool("t")));
    assert!(call.await.is_err());
    assert_eq!(lines.only()["outcome"], "cancelled");
}

#[tokio::test]
async fn the_debug_form_of_a_record_has_no_more_than_its_line() {
    let call = Call::tool("login").arguments(json!({"password": "CANARY-1"}));
    let failure = Failure::tool("no CANARY-1").because("CANARY-1 again");
    look(call, [(Duration::ZERO, Err(failure.into()))], |record| {
        let shown = format!("{record:?} {record:#?}");
        assert!(
            !shown.contains("CANARY") && shown.contains("no [masked]"),
            "{shown}"
        );
    })
    .await;
}
