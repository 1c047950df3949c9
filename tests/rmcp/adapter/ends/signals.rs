//! How a server is told to stop, in exact times: by a future, and by signals.

use super::{CUT_OFF, GRACE, HOUR, MOMENT, REFUSED, desk};
use crate::support::{Desk, Log, Raw, assert_has, preset, settings, within};
use mcp_resilience::{
    fatal::Fatal,
    rmcp::{Resilient, Stop},
};
use serde_json::{Value, json};
use std::{future::pending, time::Duration};
use tokio::{sync::oneshot, task::JoinHandle, time::Instant};

type Ending = JoinHandle<(Result<(), Fatal>, Instant)>;

/// Serves a client until told to stop.
async fn serve(server: Resilient<Desk>) -> (Raw, Ending, oneshot::Sender<()>) {
    let (near, far) = tokio::io::duplex(1 << 16);
    let (stop, stopped) = oneshot::channel();
    let stopped = async {
        stopped.await.unwrap();
    };
    let ending = async move { (server.run_with_stop(far, stopped).await, Instant::now()) };
    let ending = tokio::spawn(ending);
    let mut client = Raw::over(near);
    client.initialize().await;
    (client, ending, stop)
}

/// Begins a call, and waits until the handler has it.
async fn begin(client: &mut Raw, server: &Resilient<Desk>, tool: &str) -> u64 {
    let attempts = server.handler().attempts();
    let before = attempts.so_far().len();
    let id = client.begin("tools/call", json!({"name": tool})).await;
    while attempts.so_far().len() == before {
        tokio::task::yield_now().await;
    }
    id
}

async fn next(client: &mut Raw, id: u64) -> Value {
    let answer = client.next().await.expect("an answer");
    assert_eq!(answer["id"], id);
    answer
}

async fn ended(ending: Ending, begun: Instant) -> Duration {
    let (outcome, end) = within("the end of `run`", ending).await.unwrap();
    assert!(outcome.is_ok(), "{outcome:?}");
    end - begun
}

fn server(log: &Log) -> Resilient<Desk> {
    Resilient::with_preset(desk(), &preset(log)).grace(GRACE)
}

#[tokio::test(start_paused = true)]
async fn without_calls_the_server_ends_after_a_moment() {
    let (mut client, ending, stop) = serve(server(&Log::default())).await;
    let begun = Instant::now();
    stop.send(()).unwrap();
    assert_eq!(client.next().await, None, "the transport is closed");
    assert_eq!(ended(ending, begun).await, MOMENT);
}

#[tokio::test(start_paused = true)]
async fn a_call_that_ends_within_the_grace_is_answered_and_logged() {
    let log = Log::default();
    let server = server(&log);
    let (mut client, ending, stop) = serve(server.clone()).await;
    let slow = begin(&mut client, &server, "slow").await;
    let begun = Instant::now();
    stop.send(()).unwrap();
    let answer = next(&mut client, slow).await;
    assert_eq!(answer["result"]["content"][0]["text"], "in time");
    assert_eq!(client.next().await, None);
    assert_eq!(ended(ending, begun).await, super::SLOW + MOMENT);
    assert_has(&log.only(), &json!({"outcome": "success"}));
}

#[tokio::test(start_paused = true)]
async fn calls_that_come_during_the_grace_are_refused() {
    let log = Log::default();
    let server = server(&log);
    let attempts = server.handler().attempts();
    let (mut client, ending, stop) = serve(server.clone()).await;
    let endless = begin(&mut client, &server, "endless").await;
    let begun = Instant::now();
    stop.send(()).unwrap();
    tokio::time::sleep(Duration::from_secs(1)).await;
    let late = client.request("tools/call", json!({"name": "fine"})).await;
    assert_eq!(late["result"]["content"][0]["text"], REFUSED);
    let cut_off = next(&mut client, endless).await;
    assert_eq!(cut_off["result"]["content"][0]["text"], CUT_OFF);
    assert_eq!(begun.elapsed(), GRACE);
    assert_eq!(ended(ending, begun).await, GRACE + MOMENT);
    assert_eq!(attempts.so_far(), [1], "the endless one");
    let lines = log.all();
    assert_eq!(lines.len(), 2, "one line each");
    assert_has(&lines[0], &super::refused());
    assert_has(&lines[1], &super::cut_off());
}

#[tokio::test(start_paused = true)]
async fn a_call_that_is_on_its_way_at_the_end_is_refused_and_logged() {
    let log = Log::default();
    let (mut client, ending, stop) = serve(server(&log)).await;
    stop.send(()).unwrap();
    let late = client.begin("tools/call", json!({"name": "fine"})).await;
    let answer = next(&mut client, late).await;
    assert_eq!(answer["result"]["content"][0]["text"], REFUSED);
    ending.await.unwrap().0.unwrap();
    assert_has(&log.only(), &super::refused());
}

#[tokio::test(start_paused = true)]
async fn the_grace_is_ten_seconds_by_default() {
    let log = Log::default();
    let preset = settings(&log).attempt_timeout(Duration::from_secs(30));
    let server = Resilient::with_preset(desk(), &preset.build().unwrap());
    let (mut client, ending, stop) = serve(server.clone()).await;
    let endless = begin(&mut client, &server, "endless").await;
    let begun = Instant::now();
    stop.send(()).unwrap();
    next(&mut client, endless).await;
    assert_eq!(begun.elapsed(), Duration::from_secs(10));
    ending.await.unwrap().0.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_grace_of_zero_cuts_off_at_once() {
    let log = Log::default();
    let server = server(&log).grace(Duration::ZERO);
    let (mut client, ending, stop) = serve(server.clone()).await;
    let endless = begin(&mut client, &server, "endless").await;
    let begun = Instant::now();
    stop.send(()).unwrap();
    let answer = next(&mut client, endless).await;
    assert_eq!(answer["result"]["content"][0]["text"], CUT_OFF);
    assert_eq!(ended(ending, begun).await, MOMENT);
}

#[tokio::test(start_paused = true)]
async fn a_grace_without_end_waits_for_the_last_call() {
    let log = Log::default();
    let server = server(&log).grace(Duration::MAX);
    let (mut client, ending, stop) = serve(server.clone()).await;
    let slow = begin(&mut client, &server, "slow").await;
    let begun = Instant::now();
    stop.send(()).unwrap();
    next(&mut client, slow).await;
    assert_eq!(ended(ending, begun).await, super::SLOW + MOMENT);
}

#[tokio::test(start_paused = true)]
async fn a_server_that_is_told_to_stop_before_its_client_says_anything_ends_after_a_moment() {
    let (near, far) = tokio::io::duplex(1 << 16);
    let begun = Instant::now();
    let running = server(&Log::default()).run_with_stop(far, async {});
    running.await.unwrap();
    assert_eq!(begun.elapsed(), MOMENT);
    drop(near);
}

#[tokio::test(start_paused = true)]
async fn a_client_that_leaves_during_the_grace_ends_the_wait() {
    let log = Log::default();
    let preset = settings(&log).attempt_timeout(Duration::from_secs(30));
    let server = Resilient::with_preset(desk(), &preset.build().unwrap()).grace(HOUR);
    let (mut client, ending, stop) = serve(server.clone()).await;
    begin(&mut client, &server, "endless").await;
    let begun = Instant::now();
    stop.send(()).unwrap();
    client.leave().await;
    // The time for the calls of a client that has left: 5 s of this crate, then 5 s of rmcp.
    assert_eq!(ended(ending, begun).await, Duration::from_secs(10));
    assert_has(&log.only(), &json!({"outcome": "cancelled"}));
}

#[tokio::test(start_paused = true)]
async fn a_fatal_failure_during_the_grace_is_the_reason() {
    let log = Log::default();
    let server = server(&log);
    let handle = server.fatal_handle().clone();
    let (mut client, ending, stop) = serve(server.clone()).await;
    begin(&mut client, &server, "slow").await;
    stop.send(()).unwrap();
    tokio::task::yield_now().await;
    handle.shut(Fatal::new("the shelf is gone"));
    let outcome = ending.await.unwrap().0;
    assert_eq!(outcome.unwrap_err().to_string(), "the shelf is gone");
}

#[tokio::test(start_paused = true)]
async fn a_run_that_is_dropped_closes_the_connection_and_leaves_the_lines() {
    let log = Log::default();
    let server = server(&log);
    let (mut client, ending, stop) = serve(server.clone()).await;
    begin(&mut client, &server, "endless").await;
    ending.abort();
    let answer = client.next().await.expect("an answer");
    assert!(answer["error"].is_object(), "{answer:#}");
    assert_eq!(client.next().await, None, "the transport is closed");
    assert_has(&log.only(), &json!({"outcome": "cancelled"}));
    drop(stop);
}

#[tokio::test(start_paused = true)]
async fn of_a_thousand_running_calls_each_leaves_its_line_whatever_ends_the_server() {
    for end in ["the client leaves", "a stop", "the run is dropped"] {
        let log = Log::default();
        let server = server(&log);
        let (mut client, ending, stop) = serve(server.clone()).await;
        let attempts = server.handler().attempts();
        let params = json!({"name": "endless"});
        for _ in 0..1000 {
            client.begin("tools/call", params.clone()).await;
        }
        while attempts.so_far().len() < 1000 {
            tokio::task::yield_now().await;
        }
        match end {
            "the client leaves" => client.leave().await,
            "a stop" => stop.send(()).unwrap(),
            _ => ending.abort(),
        }
        // A client that hears the answers.
        while client.next().await.is_some() {}
        let _ = within("the end of `run`", ending).await;
        let lines = log.all();
        let mut ids: Vec<_> = lines.iter().map(|line| &line["request_id"]).collect();
        ids.sort_by_key(|id| id.as_u64());
        ids.dedup();
        assert_eq!((lines.len(), ids.len()), (1000, 1000), "{end}");
        // With a client that left, they run into the limit of their attempt.
        let is_dropped = end == "the run is dropped";
        let outcome = if is_dropped { "cancelled" } else { "failed" };
        let other = lines.iter().find(|line| line["outcome"] != outcome);
        assert_eq!(other, None, "{end}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_server_that_never_stops_ends_with_its_client() {
    let (near, far) = tokio::io::duplex(1 << 16);
    let running = tokio::spawn(server(&Log::default()).run_with_stop(far, Stop::never()));
    let mut client = Raw::over(near);
    client.initialize().await;
    client.leave().await;
    within("the end of `run`", running).await.unwrap().unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_second_call_for_an_end_never_comes_from_a_future() {
    let log = Log::default();
    let server = server(&log);
    let running = server.run_until(
        async {},
        || {},
        async |shutdown| {
            shutdown.await;
            pending::<Result<(), std::convert::Infallible>>().await
        },
    );
    running.await.unwrap();
}

/// A runtime without IO has no signals. The server still works.
#[test]
fn a_runtime_without_io_serves_without_signals() {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .build()
        .unwrap();
    runtime.block_on(async {
        let (near, far) = tokio::io::duplex(1 << 16);
        let running = tokio::spawn(server(&Log::default()).run(far));
        let mut client = Raw::over(near);
        client.initialize().await;
        let answer = client.request("tools/call", json!({"name": "fine"})).await;
        assert_eq!(answer["result"]["content"][0]["text"], "fine");
        client.leave().await;
        running.await.unwrap().unwrap();
    });
}
