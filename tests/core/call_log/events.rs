//! The events beside the line: the same fields, inside the span of the call.

use super::{MS, retry};
use crate::support::{Answer, Call, Lines, Script, traced, traced_as_text};
use mcp_resilience::{
    Failure,
    call_log::{CallLogLayer, Record, Sink, TracingEvents},
    classify::ClassifyLayer,
    is_error::IsErrorLayer,
};
use serde_json::{Value, json};
use std::panic::{AssertUnwindSafe, catch_unwind};
use tower::{BoxError, Layer, Service, ServiceBuilder, ServiceExt, service_fn};

/// A line and an event of the same record.
#[derive(Clone, Default)]
struct Both(Lines, TracingEvents);

impl Sink for Both {
    fn write(&self, record: &Record<'_>) {
        self.0.write(record);
        self.1.write(record);
    }
}

fn of_ours(events: &[Value]) -> Vec<&Value> {
    let is_ours = |event: &&Value| event["target"] == "mcp_resilience::call_log";
    events.iter().filter(is_ours).collect()
}

fn full(call: Call) -> Call {
    let mut call = call.arguments(json!({"to": "Emma"}));
    call.request_id = Some(json!("r1"));
    call.session_id = Some("b7c1".to_owned());
    let trace = "00-0af7651916cd43dd8448eb211c80319c-00f067aa0ba902b7-01";
    call.meta.insert("traceparent".to_owned(), json!(trace));
    call
}

/// Every member of the line but those that an event has by itself, or in another shape.
fn assert_same_fields(line: &Value, event: &Value) {
    let fields = event["fields"].as_object().unwrap();
    let line = line.as_object().unwrap();
    for (key, value) in line {
        let expected = match key.as_str() {
            "timestamp" | "event" | "level" => continue,
            // JSON in a string: a field has one type, and these may be anything.
            "arguments" | "request_id" => json!(value.to_string()),
            "code" => json!(value.as_str().map_or(value.to_string(), str::to_owned)),
            "retries" => json!(value.as_array().unwrap().len()),
            _ => value.clone(),
        };
        assert_eq!(fields.get(key), Some(&expected), "{key} in {event}");
    }
    for key in fields.keys().filter(|key| *key != "message") {
        assert!(line.contains_key(key), "{key} is not on the line: {event}");
    }
    assert_eq!(event["level"], line["level"]);
}

type Steps = fn() -> Vec<Result<Answer, BoxError>>;

#[tokio::test(start_paused = true)]
async fn an_event_has_the_fields_of_the_line_all_of_them_and_no_others() {
    let late: Steps = || {
        let busy = Failure::rate_limited(Some(MS(300)))
            .before_running()
            .with_code("busy");
        let late = Failure::timeout("no answer")
            .with_code("bank_timeout")
            .with_retry_after(MS(1500));
        vec![Err(busy.into()), Err(late.into())]
    };
    let unflagged: Steps = || {
        let envelope = json!({"code": "rate_limited", "error": "slow"});
        let answer = Answer::envelope(envelope);
        vec![Ok(Answer {
            is_error: false,
            ..answer
        })]
    };
    let numbered: Steps = || vec![Err(Failure::protocol(-32050, "no", None).into())];
    let fine: Steps = || vec![Ok(Answer::ok("fine"))];
    for (call, steps) in [
        (full(Call::tool("pay")), late),
        (full(Call::tool("pay")), unflagged),
        (full(Call::tool("pay")), numbered),
        (Call::tool("pay"), fine),
        (Call::resource("books://Dune"), fine),
        (Call::prompt("review"), fine),
    ] {
        let sink = Both::default();
        let events = traced(async || {
            let tools = ServiceBuilder::new()
                .layer(CallLogLayer::new(sink.clone()))
                .layer(IsErrorLayer::new())
                .layer(retry())
                .layer(ClassifyLayer::new())
                .service(Script::new(steps()));
            let _ = tools.oneshot(call.clone()).await;
        })
        .await;
        let events = of_ours(&events);
        assert_eq!(events.len(), 1, "{events:#?}");
        assert_same_fields(&sink.0.all()[1], events[0]);
    }
}

#[tokio::test(start_paused = true)]
async fn the_line_is_written_inside_the_span_of_its_call_however_that_ends() {
    for end in ["answered", "failed", "dropped", "never polled", "panicked"] {
        let events = traced(async || {
            let tool = service_fn(move |_: Call| async move {
                assert!(end != "panicked", "a panic that nobody caught");
                tokio::time::sleep(MS(100)).await;
                match end {
                    "failed" => Err(BoxError::from("boom")),
                    _ => Ok(Answer::ok("fine")),
                }
            });
            let mut tools = CallLogLayer::new(TracingEvents::new()).layer(tool);
            let call = tools.ready().await.unwrap().call(Call::tool("get_author"));
            match end {
                "never polled" => drop(call),
                "dropped" => assert!(tokio::time::timeout(MS(50), call).await.is_err()),
                "panicked" => {
                    let mut call = Box::pin(call);
                    let waker = std::task::Waker::noop();
                    let mut cx = std::task::Context::from_waker(waker);
                    let polled = AssertUnwindSafe(|| call.as_mut().poll(&mut cx).is_ready());
                    assert!(catch_unwind(polled).is_err());
                }
                _ => drop(call.await),
            }
        })
        .await;
        let events = of_ours(&events);
        assert_eq!(events.len(), 1, "{end}");
        assert_eq!(events[0]["span"]["gen_ai.tool.name"], "get_author", "{end}");
    }
}

#[tokio::test]
async fn events_of_the_tool_are_inside_the_span_too() {
    let events = traced(async || {
        let tool = service_fn(async |_: Call| {
            tracing::info!("looking it up");
            Ok::<_, BoxError>(Answer::ok("fine"))
        });
        let tools = CallLogLayer::new(TracingEvents::new()).layer(tool);
        tools.oneshot(Call::tool("get_author")).await.unwrap();
    })
    .await;
    let said = |event: &&Value| event["fields"]["message"] == "looking it up";
    let said = events.iter().find(said).unwrap();
    assert_eq!(said["span"]["gen_ai.tool.name"], "get_author");
}

#[tokio::test]
async fn the_spans_id_of_the_request_is_the_id_and_not_its_json() {
    for (id, expected) in [
        (json!(7), "7"),
        (json!("r1"), "r1"),
        (json!("\"quoted\""), "\"quoted\""),
        (json!("a\\b\""), "a\\b\""),
        (json!("a\nb\u{202e}"), "a\\u{a}b\\u{202e}"),
    ] {
        let mut call = Call::tool("t");
        call.request_id = Some(id);
        let events = traced(async || {
            let tools = CallLogLayer::new(TracingEvents::new());
            let tools = tools.layer(Script::new([Ok(Answer::ok("x"))]));
            tools.oneshot(call.clone()).await.unwrap();
        })
        .await;
        assert_eq!(of_ours(&events)[0]["span"]["jsonrpc.request.id"], expected);
    }
}

#[tokio::test]
async fn nothing_from_outside_begins_a_line_of_its_own_in_plain_text() {
    let nasty = "a\nb\u{1b}[31m\r\u{202e}c";
    let text = traced_as_text(async || {
        let failure = Failure::tool(nasty).with_code(nasty);
        let tools = CallLogLayer::new(TracingEvents::new());
        let tools = tools.layer(Script::new([Err(failure.into())]));
        let mut call = Call::tool(nasty).arguments(json!({nasty: nasty}));
        call.session_id = Some(nasty.to_owned());
        call.request_id = Some(json!(nasty));
        assert!(tools.oneshot(call).await.is_err());
    })
    .await;
    let line = text.strip_suffix('\n').unwrap();
    let is_hidden = |c: &char| c.is_control() || *c == '\u{202e}';
    assert_eq!(line.chars().find(is_hidden), None, "{line:?}");
}
