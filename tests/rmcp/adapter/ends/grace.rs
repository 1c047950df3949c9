//! How long `run` takes to end after a fatal failure, for everything that delays it.

use super::{CLOSE, CUT_OFF, GRACE, MOMENT, SLOW, cut_off, desk, stuck};
use crate::support::{Desk, Log, Raw, assert_has, preset, within};
use mcp_resilience::{fatal::Fatal, rmcp::Resilient};
use serde_json::{Value, json};
use std::time::Duration;
use tokio::{io::DuplexStream, task::JoinHandle, time::Instant};

/// How long rmcp lets calls run whose client has left.
const LEFT: Duration = Duration::from_secs(5);

fn server(log: &Log) -> Resilient<Desk> {
    Resilient::with_preset(desk(), &preset(log)).grace(GRACE)
}

type Ending = JoinHandle<(Result<(), Fatal>, Instant)>;

/// Runs a server in a task that knows when it ended, and gives the other end of its transport.
fn start(server: Resilient<Desk>, room: usize) -> (DuplexStream, Ending) {
    let (near, far) = tokio::io::duplex(room);
    let ending = async move { (server.run(far).await, Instant::now()) };
    (near, tokio::spawn(ending))
}

/// The same, with a client that reads.
async fn serve(server: Resilient<Desk>) -> (Raw, Ending) {
    let (near, ending) = start(server, 1 << 16);
    let mut client = Raw::over(near);
    client.initialize().await;
    (client, ending)
}

fn tool(name: &str) -> Value {
    json!({"name": name})
}

/// The answer to a request, among others.
async fn answer(client: &mut Raw, id: u64) -> Value {
    loop {
        let answer = client.next().await.expect("an answer");
        if answer["id"] == id {
            return answer;
        }
    }
}

/// Fails unless the run ends for the shelf, and gives how long after `begun`.
async fn ended(ending: Ending, begun: Instant) -> Duration {
    let (outcome, end) = within("the end of `run`", ending).await.unwrap();
    assert_eq!(outcome.unwrap_err().to_string(), "the shelf is gone");
    end - begun
}

#[tokio::test(start_paused = true)]
async fn with_nothing_in_the_way_it_ends_with_the_fatal_failure() {
    let server = server(&Log::default());
    let (mut client, ending) = serve(server).await;
    let begun = Instant::now();
    client.request("tools/call", tool("fatal")).await;
    assert_eq!(client.next().await, None, "the transport is closed");
    assert_eq!(ended(ending, begun).await, MOMENT);
}

#[tokio::test(start_paused = true)]
async fn it_waits_for_a_call_that_ends_in_time() {
    let server = server(&Log::default());
    let (mut client, ending) = serve(server).await;
    let slow = client.begin("tools/call", tool("slow")).await;
    let begun = Instant::now();
    client.request("tools/call", tool("fatal")).await;
    let answer = answer(&mut client, slow).await;
    assert_eq!(answer["result"]["content"][0]["text"], "in time");
    assert_eq!(ended(ending, begun).await, SLOW + MOMENT);
}

#[tokio::test(start_paused = true)]
async fn it_cuts_off_what_takes_longer_than_the_grace() {
    let log = Log::default();
    let (mut client, ending) = serve(server(&log)).await;
    let endless = client.begin("tools/call", tool("endless")).await;
    let begun = Instant::now();
    client.request("tools/call", tool("fatal")).await;
    let answer = answer(&mut client, endless).await;
    assert_eq!(begun.elapsed(), GRACE);
    assert_eq!(answer["result"]["isError"], true);
    assert_eq!(answer["result"]["content"][0]["text"], CUT_OFF);
    assert_eq!(ended(ending, begun).await, GRACE + MOMENT);
    assert_has(log.all().last().unwrap(), &cut_off());
}

#[tokio::test(start_paused = true)]
async fn a_call_that_comes_meanwhile_is_told_why_and_does_not_run() {
    let server = server(&Log::default());
    let attempts = server.handler().attempts();
    let (mut client, ending) = serve(server).await;
    client.begin("tools/call", tool("endless")).await;
    let begun = Instant::now();
    client.request("tools/call", tool("fatal")).await;
    tokio::time::sleep(Duration::from_secs(1)).await;
    let answer = client.request("tools/call", tool("fine")).await;
    // The reason may quote what another caller sent: it is for the log and for `main`.
    let error = json!({"code": -32603, "message": "the tool server is out of service"});
    assert_eq!(answer["error"], error);
    assert_eq!(begun.elapsed(), Duration::from_secs(1));
    assert_eq!(ended(ending, begun).await, GRACE + MOMENT);
    assert_eq!(
        attempts.so_far(),
        [1, 1],
        "the endless one and the fatal one"
    );
}

/// A client that asks, and never reads.
async fn deaf(server: Resilient<Desk>, tools: &[&str]) -> (Raw, Ending, Instant) {
    let attempts = server.handler().attempts();
    // No answer to a call has room in it.
    let (near, ending) = start(server, 16);
    let mut client = Raw::over(near);
    client.initialize().await;
    let mut begun = Instant::now();
    for (at, name) in tools.iter().enumerate() {
        client.begin("tools/call", tool(name)).await;
        begun = Instant::now();
        while attempts.so_far().len() == at {
            tokio::task::yield_now().await;
        }
    }
    (client, ending, begun)
}

#[tokio::test(start_paused = true)]
async fn answers_without_a_reader_delay_the_end_by_two_seconds() {
    let server = server(&Log::default());
    let (client, ending, begun) = deaf(server, &["fatal"]).await;
    assert_eq!(ended(ending, begun).await, MOMENT + CLOSE);
    drop(client);
}

#[tokio::test(start_paused = true)]
async fn a_call_and_a_client_in_the_way_hold_it_up_one_after_the_other() {
    let server = server(&Log::default());
    let (client, ending, begun) = deaf(server, &["endless", "fatal"]).await;
    assert_eq!(ended(ending, begun).await, GRACE + MOMENT + CLOSE);
    drop(client);
}

#[tokio::test(start_paused = true)]
async fn the_run_ends_even_if_everything_delays_it() {
    let server = server(&Log::default());
    let stuck = stuck(&server).await;
    let (client, ending, begun) = deaf(server, &["fatal"]).await;
    assert_eq!(ended(ending, begun).await, GRACE + MOMENT + MOMENT + CLOSE);
    drop((client, stuck));
}

#[tokio::test(start_paused = true)]
async fn a_client_that_leaves_holds_it_up_for_five_seconds_and_is_a_normal_end() {
    let log = Log::default();
    let (mut client, ending) = serve(server(&log)).await;
    client.begin("tools/call", tool("endless")).await;
    let begun = Instant::now();
    client.leave().await;
    let (outcome, end) = within("the end of `run`", ending).await.unwrap();
    assert!(outcome.is_ok(), "{outcome:?}");
    assert_eq!(end - begun, LEFT);
}

#[tokio::test(start_paused = true)]
async fn a_client_that_leaves_and_reads_nothing_is_a_normal_end_too() {
    let server = server(&Log::default());
    let (mut client, ending, begun) = deaf(server, &["fine"]).await;
    client.leave().await;
    let (outcome, end) = within("the end of `run`", ending).await.unwrap();
    assert!(outcome.is_ok(), "{outcome:?}");
    // The end of the input waits for the answer, rmcp for the calls, and the close for the writes.
    assert_eq!(end - begun, LEFT + LEFT + CLOSE);
}
