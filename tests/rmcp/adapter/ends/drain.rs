//! `drain`, which stops serving calls and does nothing else.

use super::{CUT_OFF, HOUR, MOMENT, REFUSED, SLOW, begin, cut_off, desk, refused, stuck};
use crate::support::{Log, assert_has, call, connect, preset, settings, text};
use mcp_resilience::{
    call_log::{CallLogLayer, Record, Sink},
    rmcp::Resilient,
};
use rmcp::{model::CallToolResponse, service::ServiceError};
use serde_json::json;
use std::{
    sync::{Arc, Mutex},
    time::Duration,
};
use tokio::time::Instant;

const LIMIT: Duration = Duration::from_secs(1);

fn server(log: &Log) -> Resilient<crate::support::Desk> {
    Resilient::with_preset(desk(), &preset(log))
}

#[tokio::test(start_paused = true)]
async fn a_server_without_calls_ends_at_once() {
    let server = server(&Log::default());
    let begun = Instant::now();
    server.drain(HOUR).await;
    assert_eq!(begun.elapsed(), Duration::ZERO);
}

#[tokio::test(start_paused = true)]
async fn it_waits_for_the_last_call_and_no_longer() {
    let log = Log::default();
    let server = server(&log);
    let client = connect(server.clone(), ()).await;
    let first = begin(&client, &server, "slow").await;
    let begun = Instant::now();
    tokio::time::sleep(Duration::from_millis(100)).await;
    let second = begin(&client, &server, "slow").await;
    server.drain(HOUR).await;
    assert_eq!(begun.elapsed(), SLOW + Duration::from_millis(100));
    for answer in [first, second] {
        assert_eq!(text(&answer.await.unwrap().unwrap()), "in time");
    }
}

#[tokio::test(start_paused = true)]
async fn a_call_that_is_not_done_in_time_is_cut_off_and_may_have_run() {
    let log = Log::default();
    let server = server(&log);
    let client = connect(server.clone(), ()).await;
    let endless = begin(&client, &server, "endless").await;
    let begun = Instant::now();
    server.drain(LIMIT).await;
    assert_eq!(begun.elapsed(), LIMIT, "it notices at once");
    let answer = endless.await.unwrap().unwrap();
    assert_eq!(answer.is_error, Some(true));
    assert_eq!(text(&answer), CUT_OFF);
    assert_has(&log.only(), &cut_off());
}

#[tokio::test(start_paused = true)]
async fn a_call_that_comes_after_the_end_is_refused_before_it_runs() {
    let log = Log::default();
    let server = server(&log);
    let attempts = server.handler().attempts();
    let client = connect(server.clone(), ()).await;
    let of_a_clone = connect(server.clone(), ()).await;
    server.drain(HOUR).await;
    for client in [client, of_a_clone] {
        let answer = client.call_tool(call("fine")).await.unwrap();
        assert_eq!(answer.is_error, Some(true));
        assert_eq!(text(&answer), REFUSED);
    }
    assert_eq!(attempts.so_far(), [0; 0], "nothing ran");
    let lines = log.all();
    assert_eq!(lines.len(), 2, "one line each");
    for line in lines {
        assert_has(&line, &refused());
    }
}

#[tokio::test(start_paused = true)]
async fn a_call_that_comes_while_others_end_is_refused_too() {
    let log = Log::default();
    let server = server(&log);
    let client = connect(server.clone(), ()).await;
    let slow = begin(&client, &server, "slow").await;
    let begun = Instant::now();
    let late = async {
        tokio::time::sleep(Duration::from_millis(100)).await;
        let answer = client.call_tool(call("fine")).await.unwrap();
        assert_eq!(text(&answer), REFUSED);
        assert_eq!(begun.elapsed(), Duration::from_millis(100));
    };
    tokio::join!(server.drain(HOUR), late);
    assert_eq!(text(&slow.await.unwrap().unwrap()), "in time");
    assert_eq!(server.handler().attempts().so_far(), [1], "the slow one");
}

#[tokio::test(start_paused = true)]
async fn a_call_that_waits_for_its_repeat_may_still_make_it() {
    let log = Log::default();
    let server = server(&log);
    let client = connect(server.clone(), ()).await;
    let answer = begin(&client, &server, "refused_once").await;
    let begun = Instant::now();
    server.drain(HOUR).await;
    assert_eq!(begun.elapsed(), Duration::from_secs(1));
    assert_eq!(text(&answer.await.unwrap().unwrap()), "fine");
    assert_has(&log.only(), &json!({"outcome": "success", "attempts": 2}));
}

#[tokio::test(start_paused = true)]
async fn a_call_is_cut_off_in_a_wait_too() {
    let log = Log::default();
    let server = server(&log);
    let client = connect(server.clone(), ()).await;
    let waiting = begin(&client, &server, "refused").await;
    let begun = Instant::now();
    server.drain(LIMIT).await;
    assert_eq!(begun.elapsed(), LIMIT);
    let ServiceError::McpError(error) = waiting.await.unwrap().unwrap_err() else {
        panic!("no JSON-RPC error");
    };
    assert_eq!(error.code.0, -32603);
    assert_eq!(error.message, "the server is shutting down");
    assert_eq!(server.handler().attempts().so_far(), [1]);
    let line = json!({
        "tool": "refused",
        "attempts": 1,
        "outcome": "failed",
        "class": "unavailable",
        "retry_stopped": "not_ready",
    });
    assert_has(&log.only(), &line);
}

/// On real threads: waiters are woken one after the other, and may look too early.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn each_of_many_calls_is_cut_off_where_it_runs_and_flagged() {
    for _ in 0..200 {
        let server = server(&Log::default());
        let client = connect(server.clone(), ()).await;
        let mut calls = Vec::new();
        for _ in 0..16 {
            calls.push(begin(&client, &server, "endless").await);
        }
        server.drain(Duration::ZERO).await;
        for call in calls {
            let answer = call.await.unwrap().expect("a result, and no error");
            assert_eq!(text(&answer), CUT_OFF);
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_call_that_does_not_notice_is_abandoned_after_a_moment() {
    let log = Log::default();
    let server = server(&log);
    let stuck = stuck(&server).await;
    let begun = Instant::now();
    server.drain(LIMIT).await;
    assert_eq!(begun.elapsed(), LIMIT + MOMENT);
    assert_eq!(log.all().len(), 0, "it still hangs");
    // Where its thread comes back after all, it is answered like any other.
    let CallToolResponse::Complete(answer) = stuck.await.unwrap() else {
        panic!("no result");
    };
    assert_eq!(text(&answer), CUT_OFF);
    assert_has(&log.only(), &cut_off());
}

/// A sink that remembers how long it might take.
#[derive(Clone, Default)]
struct Flushed(Arc<Mutex<Vec<Duration>>>);

impl Sink for Flushed {
    fn write(&self, _: &Record<'_>) {}

    fn flush(&self, at_most: Duration) {
        self.0.lock().unwrap().push(at_most);
    }
}

#[tokio::test(start_paused = true)]
async fn the_log_has_up_to_a_second_to_be_written() {
    let sink = Flushed::default();
    let preset = settings(&Log::default()).log(CallLogLayer::new(sink.clone()));
    let server = Resilient::with_preset(desk(), &preset.build().unwrap());
    server.drain(HOUR).await;
    assert_eq!(*sink.0.lock().unwrap(), [Duration::from_secs(1)]);
}
