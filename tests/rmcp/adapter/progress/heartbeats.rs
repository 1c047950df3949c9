//! Heartbeats of the server while a call waits.

use super::{By, Listener, MINUTE, SECOND, WAYS, open, reads, report};
use crate::support::{Desk, Log, call, ok, retry, settings};
use mcp_resilience::{Failure, classify::ClassifyLayer, observe::Event, rmcp::Resilient};
use std::{
    sync::{Arc, Mutex},
    time::Duration,
};
use tokio::time::sleep;
use tower::ServiceBuilder;

/// A tool that fails once with this, and then answers.
fn fails_once(failure: impl Fn() -> Failure + Send + Sync + 'static) -> Desk {
    reads(move |run| {
        let failed = (run.number == 1).then(&failure);
        async move {
            match failed {
                Some(failure) => Err(failure.into()),
                None => ok("done"),
            }
        }
    })
}

#[tokio::test(start_paused = true)]
async fn heartbeats_name_the_wait_and_its_reason() {
    for by in WAYS {
        let desk = fails_once(|| {
            Failure::rate_limited(Some(Duration::from_millis(30_500)))
                .with_message("the key sk-live-0123456789abcdef is used up")
                .before_running()
        });
        let listener = Listener::default();
        // Without jitter the wait is what was asked for.
        let layer = settings(&Log::default()).retry(retry().build().unwrap());
        let server = Resilient::with_preset(desk, &layer.build().unwrap());
        let session = open(by, server, listener.clone()).await;
        session.call_tool(call("print")).await.unwrap();
        let expected =
            "waiting 31 s before attempt 2: attempt 1 failed (rate_limited) and asked for 31 s";
        assert_eq!(listener.messages(), [expected; 2], "{by:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_wait_without_a_hint_has_the_failure_as_its_reason() {
    let desk = fails_once(|| Failure::unavailable(None).before_running());
    let listener = Listener::default();
    let backoff = mcp_resilience::backoff::Backoff::new(20 * SECOND, 20 * SECOND).unwrap();
    let layer = settings(&Log::default()).retry(retry().backoff(backoff).build().unwrap());
    let server = Resilient::with_preset(desk, &layer.build().unwrap());
    let session = open(By::Run, server, listener.clone()).await;
    session.call_tool(call("print")).await.unwrap();
    let expected = "waiting 20 s before attempt 2: attempt 1 failed (unavailable)";
    assert_eq!(listener.messages(), [expected]);
}

#[tokio::test(start_paused = true)]
async fn an_observer_is_told_of_each_heartbeat_that_was_sent() {
    for by in WAYS {
        let desk = reads(async |run| {
            sleep(40 * SECOND).await;
            report(&run, 1.0).await;
            sleep(59 * SECOND).await;
            ok("done")
        });
        let told = Arc::<Mutex<Vec<String>>>::default();
        let seen = Arc::clone(&told);
        let layer = settings(&Log::default())
            .attempt_timeout(10 * MINUTE)
            .observer(move |event: &Event<'_>| {
                if let Event::HeartbeatSent { call, elapsed, .. } = event {
                    let (name, attempt) = (call.name(), call.attempt());
                    let line = format!("{name} {attempt:?} {elapsed:?}");
                    seen.lock().unwrap().push(line);
                }
            });
        let server = Resilient::with_preset(desk, &layer.build().unwrap());
        let listener = Listener::default();
        let session = open(by, server, listener.clone()).await;
        session.call_tool(call("print")).await.unwrap();
        let told = told.lock().unwrap().clone();
        // The tool reports after 40 s.
        let expected = [15, 30].map(|at| format!("print Some(1) {at}s"));
        assert_eq!(told, expected, "{by:?}: none once the tool has reported");
        assert_eq!(listener.messages().len(), 2);
    }
}

#[tokio::test(start_paused = true)]
async fn heartbeats_can_be_set_and_turned_off() {
    let settings = [
        (Some(4 * MINUTE), 2),
        (None, 0),
        (Some(Duration::ZERO), 0),
        // Its first would be beyond the end of time.
        (Some(Duration::MAX), 0),
    ];
    for (every, count) in settings {
        let desk = reads(async |_| {
            sleep(9 * MINUTE).await;
            ok("done")
        });
        let listener = Listener::default();
        let server = Resilient::new(desk).heartbeat(every);
        let session = open(By::Serve, server, listener.clone()).await;
        session.call_tool(call("print")).await.unwrap();
        assert_eq!(listener.values().len(), count, "{every:?}");
    }
}

/// Like a slow store of outcomes.
#[tokio::test(start_paused = true)]
async fn while_an_outcome_is_on_its_way_no_heartbeat_names_a_next_attempt() {
    let desk = fails_once(|| Failure::unavailable(Some(20 * SECOND)).before_running());
    let stack = ServiceBuilder::new()
        .map_future(|answer| async {
            let answer = answer.await;
            sleep(40 * SECOND).await;
            answer
        })
        .layer(retry().build().unwrap())
        .layer(ClassifyLayer::new())
        .into_inner();
    let listener = Listener::default();
    let server = Resilient::with_layer(desk, &stack);
    let session = open(By::Run, server, listener.clone()).await;
    session.call_tool(call("print")).await.unwrap();
    let waiting =
        "waiting 20 s before attempt 2: attempt 1 failed (unavailable) and asked for 20 s";
    let finishing = [30, 45].map(|at| format!("finishing after {at} s"));
    assert_eq!(listener.messages()[0], waiting);
    assert_eq!(listener.messages()[1..], finishing);
}
