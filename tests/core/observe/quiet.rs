//! Observers that panic, stacks without an observer, and dropped calls.

use super::{SECOND, exact};
use crate::support::{Answer, Call, Script, Seen, events_of};
use mcp_resilience::{
    Failure,
    observe::{Event, Observer},
    reconnect::ReconnectLayer,
    retry::RetryBuilder,
};
use serde_json::{Value, json};
use std::sync::{
    Arc,
    atomic::{AtomicU32, Ordering::Relaxed},
};
use tokio::time::timeout;
use tower::{BoxError, Layer, ServiceExt, service_fn};

/// Calls a tool that fails once, and gives the answer.
async fn repeated(retry: RetryBuilder) -> Answer {
    let away = Err(Failure::unavailable(None).into());
    let tool = Script::new([away, Ok(Answer::ok("fine"))]);
    let stack = retry.build().unwrap().layer(tool);
    stack.oneshot(Call::read_only("quote")).await.unwrap()
}

fn panics(_: &Event<'_>) {
    panic!("an observer that panics");
}

/// Panics when it is dropped.
struct Bomb;

impl Drop for Bomb {
    fn drop(&mut self) {
        panic!("a panic that panics");
    }
}

fn throws_a_bomb(_: &Event<'_>) {
    std::panic::panic_any(Bomb);
}

fn messages(events: &[Value]) -> Vec<&str> {
    let messages = events.iter().map(|event| &event["fields"]["message"]);
    messages.filter_map(Value::as_str).collect()
}

#[tokio::test(start_paused = true)]
async fn a_panic_in_an_observer_fails_no_call_and_is_reported_once() {
    let events = events_of(async || {
        let seen = Seen::new();
        let retry = exact().observer(panics.and(throws_a_bomb).and(seen.clone()));
        assert_eq!(repeated(retry.clone()).await, Answer::ok("fine"));
        assert_eq!(repeated(retry).await, Answer::ok("fine"));
        assert_eq!(seen.lines().len(), 2, "the other one is told all the same");
    })
    .await;
    let report = "an observer panicked, the call goes on; its further panics are not reported";
    assert_eq!(messages(&events), [report]);
    assert_eq!(events[0]["level"], "ERROR");
}

#[tokio::test(start_paused = true)]
async fn a_panic_in_an_observer_strands_no_call_that_waits_for_a_connection() {
    let dials = Arc::new(AtomicU32::new(0));
    let connector = service_fn(move |()| {
        let is_first = dials.fetch_add(1, Relaxed) == 0;
        async move {
            if is_first {
                return Err(Failure::connection("refused"));
            }
            Ok(service_fn(async |_: Call| {
                Ok::<_, BoxError>(Answer::ok("fine"))
            }))
        }
    });
    let layer = ReconnectLayer::builder(())
        .retry_first_dial()
        .observer(throws_a_bomb);
    let stack = layer.build().unwrap().layer(connector);
    let answer = stack.oneshot(Call::tool("quote")).await;
    assert_eq!(answer.unwrap(), Answer::ok("fine"));
}

#[tokio::test(start_paused = true)]
async fn a_call_that_is_dropped_tells_nothing_more() {
    let seen = Seen::new();
    let call = repeated(exact().observer(seen.clone()));
    timeout(SECOND / 2, call).await.unwrap_err();
    tokio::time::sleep(10 * SECOND).await;
    assert_eq!(seen.lines(), ["0 retry_scheduled quote#1 unavailable 1s"]);
}

#[tokio::test(start_paused = true)]
async fn without_an_observer_a_repeat_is_an_event_of_tracing() {
    let events = events_of(async || drop(repeated(exact()).await)).await;
    assert_eq!(events.len(), 1, "{events:#?}");
    assert_eq!(events[0]["level"], "DEBUG");
    assert_eq!(events[0]["target"], "mcp_resilience::retry");
    assert_eq!(
        events[0]["fields"],
        json!({
            "message": "attempt failed and will be repeated",
            "attempt": 1,
            "class": "unavailable",
            "wait_ms": 1000,
            "error": "the service is unavailable for now",
        })
    );
    let watched = async || drop(repeated(exact().observer(|_: &Event<'_>| {})).await);
    assert_eq!(events_of(watched).await, Vec::<Value>::new());
}
