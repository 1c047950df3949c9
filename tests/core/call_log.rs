//! One line for every call, however it ends.

mod arguments;
mod drops;
mod events;
mod invisible;
mod line;
mod quoted;
mod record;
mod redactor;
mod schema;
mod secrets;
mod sinks;
mod spawned;
mod tracing;

use crate::support::{Answer, Call, Lines, Script};
use mcp_resilience::{
    Failure,
    backoff::{Backoff, Jitter},
    call_log::CallLogLayer,
    classify::ClassifyLayer,
    is_error::IsErrorLayer,
    retry::RetryLayer,
};
use std::{
    future::pending,
    panic::{AssertUnwindSafe, catch_unwind},
    task::{Context, Waker},
    time::Duration,
};
use tower::{BoxError, Layer, Service, ServiceBuilder, ServiceExt, service_fn};

const MS: fn(u64) -> Duration = Duration::from_millis;

fn retry() -> RetryLayer {
    RetryLayer::builder()
        .backoff(Backoff::new(MS(100), MS(1000)).unwrap())
        .jitter(Jitter::none())
        .build()
        .unwrap()
}

#[tokio::test(start_paused = true)]
async fn every_end_of_a_call_leaves_one_line_with_its_outcome() {
    let protocol = Failure::protocol(-32004, "no such shelf", None);
    let cases: [(&str, Result<Answer, BoxError>, &str); 6] = [
        ("a success", Ok(Answer::ok("Dune")), "success"),
        ("a flagged result", Ok(Answer::flagged("no")), "failed"),
        ("an error", Err("boom".into()), "failed"),
        ("a protocol error", Err(protocol.into()), "failed"),
        ("the end", Err(Failure::fatal("no disk").into()), "failed"),
        (
            "an answer that is none yet",
            Ok(Answer {
                is_interim: true,
                ..Answer::default()
            }),
            "interim",
        ),
    ];
    for (what, step, outcome) in cases {
        let lines = Lines::default();
        let tools = CallLogLayer::new(lines.clone()).layer(Script::new([step]));
        let _ = tools.oneshot(Call::tool("t")).await;
        assert_eq!(lines.only()["outcome"], outcome, "{what}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_call_that_is_dropped_leaves_a_line_wherever_it_was() {
    // Never polled, in the midst of an attempt, and in the midst of a wait.
    for after in [None, Some(MS(50)), Some(MS(130))] {
        let lines = Lines::default();
        let slow = Script::timed([
            (
                MS(100),
                Err(Failure::at_capacity(None).before_running().into()),
            ),
            (MS(1000), Ok(Answer::ok("too late"))),
        ]);
        let mut tools = ServiceBuilder::new()
            .layer(CallLogLayer::new(lines.clone()))
            .layer(retry())
            .service(slow);
        let call = tools.ready().await.unwrap().call(Call::tool("t"));
        match after {
            None => drop(call),
            Some(after) => drop(tokio::time::timeout(after, call).await.unwrap_err()),
        }
        let line = lines.only();
        assert_eq!(line["outcome"], "cancelled", "{after:?}");
        assert_eq!(line["level"], "INFO");
        let latency = after.map_or(0, |after| after.as_millis());
        assert_eq!(line["latency_ms"], u64::try_from(latency).unwrap());
        // Only the part of the wait that was waited.
        let waited = if after == Some(MS(130)) { 30 } else { 0 };
        assert_eq!(line["waited_ms"], waited, "{after:?}");
    }
}

#[tokio::test]
async fn an_uncaught_panic_leaves_a_line_and_goes_on() {
    for in_call in [true, false] {
        let lines = Lines::default();
        let mut tools = ServiceBuilder::new()
            .layer(CallLogLayer::new(lines.clone()))
            .service_fn(move |_: Call| {
                assert!(!in_call, "in the call itself");
                async { panic!("in the future") as Result<Answer, BoxError> }
            });
        let tools = tools.ready().await.unwrap();
        let panicked = catch_unwind(AssertUnwindSafe(|| {
            // Polled by hand: a runtime would catch the panic itself.
            let mut call = Box::pin(tools.call(Call::tool("t")));
            let _ = call.as_mut().poll(&mut Context::from_waker(Waker::noop()));
        }));
        assert!(panicked.is_err(), "the panic is the caller's");
        let line = lines.only();
        assert_eq!(line["outcome"], "failed");
        assert_eq!(line["class"], "crash");
        assert_eq!(line["level"], "ERROR");
    }
}

#[tokio::test(start_paused = true)]
async fn latency_is_the_whole_call_and_waits_are_told_apart() {
    let lines = Lines::default();
    let tool = Script::timed([
        (
            MS(60),
            Err(Failure::at_capacity(None).before_running().into()),
        ),
        (MS(20), Ok(Answer::ok("fine"))),
    ]);
    let tools = ServiceBuilder::new()
        .layer(CallLogLayer::new(lines.clone()))
        .layer(retry())
        .service(tool);

    tools.oneshot(Call::tool("t")).await.unwrap();

    let line = lines.only();
    assert_eq!(line["latency_ms"], 180);
    assert_eq!(line["waited_ms"], 100);
    assert_eq!(line["attempts"], 2);
    assert_eq!(line["retried"], true);
    assert_eq!(line["level"], "WARN");
}

#[tokio::test(start_paused = true)]
async fn a_stack_inside_a_tool_writes_nothing_into_the_line_outside() {
    let lines = Lines::default();
    let inner = Script::new([
        Err(Failure::at_capacity(None).before_running().into()),
        Ok(Answer::envelope(
            serde_json::json!({"code": "not_found", "error": "x"}),
        )),
    ]);
    let inner = ServiceBuilder::new()
        .layer(IsErrorLayer::new())
        .layer(retry())
        .layer(ClassifyLayer::new())
        .service(inner);
    // A tool that itself calls a tool, and makes something else of the answer.
    let outer = service_fn(move |call: Call| {
        let inner = inner.clone();
        async move {
            let answer = inner.oneshot(call).await?;
            assert!(answer.is_error);
            Ok::<_, BoxError>(Answer::ok("made do"))
        }
    });
    let tools = ServiceBuilder::new()
        .layer(CallLogLayer::new(lines.clone()))
        .layer(retry())
        .layer(ClassifyLayer::new())
        .service(outer);

    tools.oneshot(Call::tool("t")).await.unwrap();

    let line = lines.only();
    assert_eq!(line["attempts"], 1);
    assert_eq!(line["level"], "INFO");
    assert!(line.get("retries").is_none() && line.get("class").is_none());
}

#[tokio::test]
async fn a_log_that_is_off_writes_nothing() {
    let tools = CallLogLayer::off().layer(Script::new([Ok(Answer::ok("Dune"))]));
    assert_eq!(
        tools.oneshot(Call::tool("t")).await.unwrap(),
        Answer::ok("Dune")
    );
    assert!(CallLogLayer::off().sink().is_none());
}

#[tokio::test(start_paused = true)]
async fn calls_that_overlap_leave_their_own_lines() {
    let lines = Lines::default();
    let tools = CallLogLayer::new(lines.clone()).layer(service_fn(async |call: Call| {
        if call.name == "hangs" {
            return pending().await;
        }
        tokio::time::sleep(MS(10)).await;
        Ok::<_, BoxError>(Answer::ok("fine"))
    }));
    let hanging = tokio::spawn(tools.clone().oneshot(Call::tool("hangs")));
    let fine = tokio::spawn(tools.oneshot(Call::tool("fine")));
    fine.await.unwrap().unwrap();
    hanging.abort();
    assert!(hanging.await.unwrap_err().is_cancelled());

    let seen: Vec<_> = lines
        .all()
        .iter()
        .map(|line| (line["tool"].clone(), line["outcome"].clone()))
        .collect();
    assert_eq!(
        seen,
        [
            ("fine".into(), "success".into()),
            ("hangs".into(), "cancelled".into())
        ]
    );
}
