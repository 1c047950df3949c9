//! `run_until`, in exact times, with servers that end in different ways.

use super::{CLOSE, CUT_OFF, GRACE, HOUR, MOMENT, REFUSED, begin, desk, refused, stuck};
use crate::support::{Desk, Log, assert_has, call, connect, preset, text};
use mcp_resilience::{
    fatal::Fatal,
    rmcp::{Resilient, Shutdown},
};
use std::{
    convert::Infallible,
    future::pending,
    io,
    sync::{Arc, Mutex},
    time::Duration,
};
use tokio::time::{Instant, sleep};

/// When the signal comes: before any call of these tests has used up its time.
const SIGNAL: Duration = Duration::from_secs(1);

/// When a server ends before that.
const EARLY: Duration = Duration::from_millis(500);

/// The signal, and how long after it the sessions ended.
#[derive(Clone)]
struct Diary {
    begun: Instant,
    signal: Instant,
    sessions_ended: Arc<Mutex<Vec<Duration>>>,
}

impl Diary {
    fn new() -> Self {
        let begun = Instant::now();
        Self {
            begun,
            signal: begun + SIGNAL,
            sessions_ended: Arc::default(),
        }
    }

    fn sessions_end(&self) -> impl FnOnce() + Send + 'static {
        let diary = self.clone();
        move || {
            let since = diary.signal.elapsed();
            diary.sessions_ended.lock().unwrap().push(since);
        }
    }

    fn sessions_ended(&self) -> Vec<Duration> {
        self.sessions_ended.lock().unwrap().clone()
    }
}

/// Runs a server that ends as soon as it is told to. Returns the time from the signal to the end.
async fn run(server: Resilient<Desk>, diary: &Diary) -> Duration {
    let told = async |shutdown: Shutdown| {
        shutdown.await;
        Ok::<_, Infallible>(())
    };
    let outcome = server.run_until(sleep(SIGNAL), diary.sessions_end(), told);
    outcome.await.unwrap();
    diary.signal.elapsed()
}

fn server() -> Resilient<Desk> {
    Resilient::with_preset(desk(), &preset(&Log::default())).grace(GRACE)
}

#[tokio::test(start_paused = true)]
async fn without_calls_only_the_last_answers_have_a_moment_to_leave() {
    let diary = Diary::new();
    assert_eq!(run(server(), &diary).await, MOMENT);
    assert_eq!(diary.sessions_ended(), [MOMENT]);
}

#[tokio::test(start_paused = true)]
async fn it_waits_for_a_call_that_ends_in_time() {
    let (server, diary) = (server(), Diary::new());
    let client = connect(server.clone(), ()).await;
    let slow = async {
        sleep(Duration::from_millis(900)).await;
        begin(&client, &server, "slow").await.await
    };
    let (took, answer) = tokio::join!(run(server.clone(), &diary), slow);
    // 300 ms, from 100 ms before the signal.
    let left = Duration::from_millis(200);
    assert_eq!(took, left + MOMENT);
    assert_eq!(diary.sessions_ended(), [left + MOMENT]);
    assert_eq!(text(&answer.unwrap().unwrap()), "in time");
}

#[tokio::test(start_paused = true)]
async fn it_cuts_off_what_takes_longer_than_the_grace() {
    let (server, diary) = (server(), Diary::new());
    let client = connect(server.clone(), ()).await;
    let endless = begin(&client, &server, "endless").await;
    assert_eq!(run(server, &diary).await, GRACE + MOMENT);
    assert_eq!(diary.sessions_ended(), [GRACE + MOMENT]);
    let answer = endless.await.unwrap().unwrap();
    assert_eq!(text(&answer), CUT_OFF);
}

#[tokio::test(start_paused = true)]
async fn a_call_that_ignores_its_cancellation_gets_a_moment_more() {
    let (server, diary) = (server(), Diary::new());
    let stuck = stuck(&server).await;
    assert_eq!(run(server, &diary).await, GRACE + MOMENT + MOMENT);
    drop(stuck);
}

#[tokio::test(start_paused = true)]
async fn a_call_that_comes_after_the_signal_is_refused() {
    let log = Log::default();
    let server = Resilient::with_preset(desk(), &preset(&log)).grace(GRACE);
    let attempts = server.handler().attempts();
    let diary = Diary::new();
    let client = connect(server.clone(), ()).await;
    let endless = begin(&client, &server, "endless").await;
    let late = async {
        sleep(SIGNAL + Duration::from_secs(1)).await;
        client.call_tool(call("fine")).await.unwrap()
    };
    let (_, answer) = tokio::join!(run(server, &diary), late);
    assert_eq!(text(&answer), REFUSED);
    assert_has(&log.all()[0], &refused());
    assert_eq!(attempts.so_far(), [1], "the endless one");
    endless.await.unwrap().unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_fatal_failure_is_a_signal_and_the_reason() {
    let (server, diary) = (server(), Diary::new());
    let client = connect(server.clone(), ()).await;
    let failing = async {
        sleep(SIGNAL).await;
        client.call_tool(call("fatal")).await.unwrap_err()
    };
    let told = async |shutdown: Shutdown| {
        shutdown.await;
        Ok::<_, Infallible>(())
    };
    let running = server.run_until(pending(), diary.sessions_end(), told);
    let (outcome, _) = tokio::join!(running, failing);
    assert_eq!(outcome.unwrap_err().to_string(), "the shelf is gone");
    assert_eq!(diary.begun.elapsed(), SIGNAL + MOMENT);
    assert_eq!(diary.sessions_ended(), [MOMENT]);
}

#[tokio::test(start_paused = true)]
async fn a_server_that_its_clients_keep_has_two_more_seconds() {
    let (server, diary) = (server(), Diary::new());
    // As axum's, while a request is half sent.
    let kept = async |shutdown: Shutdown| {
        shutdown.await;
        pending::<Result<(), Infallible>>().await
    };
    let running = server.run_until(sleep(SIGNAL), diary.sessions_end(), kept);
    running.await.unwrap();
    assert_eq!(diary.begun.elapsed(), SIGNAL + MOMENT + CLOSE);
    assert_eq!(diary.sessions_ended(), [MOMENT]);
}

#[tokio::test(start_paused = true)]
async fn a_server_that_does_not_end_still_reports_the_reason() {
    let (server, diary) = (server(), Diary::new());
    server.fatal_handle().shut(Fatal::new("the shelf is gone"));
    let kept = async |shutdown: Shutdown| {
        shutdown.await;
        pending::<Result<(), Infallible>>().await
    };
    let running = server.run_until(pending(), diary.sessions_end(), kept);
    let fatal = running.await.unwrap_err();
    assert_eq!(fatal.to_string(), "the shelf is gone");
    assert_eq!(diary.begun.elapsed(), MOMENT + CLOSE);
}

#[tokio::test(start_paused = true)]
async fn a_server_that_ends_by_itself_is_not_waited_for() {
    let diary = Diary::new();
    let ends = async |_: Shutdown| {
        sleep(EARLY).await;
        Ok::<_, Infallible>(())
    };
    let running = server().run_until(sleep(SIGNAL), diary.sessions_end(), ends);
    running.await.unwrap();
    assert_eq!(diary.begun.elapsed(), EARLY);
    assert!(diary.sessions_ended().is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_server_that_fails_is_the_reason() {
    let diary = Diary::new();
    let fails = async |_: Shutdown| {
        sleep(EARLY).await;
        Err(io::Error::other("the port is gone"))
    };
    let running = server().run_until(sleep(SIGNAL), diary.sessions_end(), fails);
    let fatal = running.await.unwrap_err();
    assert_eq!(format!("{fatal:?}"), "cannot serve: the port is gone");
    assert_eq!(diary.begun.elapsed(), EARLY);
}

#[tokio::test(start_paused = true)]
async fn a_server_that_wants_no_shutdown_ends_when_it_wants() {
    let diary = Diary::new();
    let goes_on = async |shutdown: Shutdown| {
        drop(shutdown);
        sleep(HOUR).await;
        Ok::<_, Infallible>(())
    };
    let running = server().run_until(sleep(SIGNAL), diary.sessions_end(), goes_on);
    running.await.unwrap();
    assert_eq!(diary.begun.elapsed(), HOUR);
}
