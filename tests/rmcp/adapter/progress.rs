//! Limits follow the progress that a tool reports, and clients hear of calls that wait.
#![allow(clippy::float_cmp, reason = "progress is compared as it was sent")]

mod heartbeats;

use crate::support::{Desk, Log, Run, assert_has, call, ok, retry, settings, text};
use mcp_resilience::{
    Failure, ResilienceLayer,
    call::Ticker,
    call_log::CallLogLayer,
    rmcp::{Resilient, ServerAnswer, ServerCall, Stop},
};
use rmcp::{
    ClientHandler, ErrorData, RoleClient, ServiceExt,
    model::{CallToolResponse, ProgressNotificationParam, ToolAnnotations},
    service::{ClientLifecycleMode, ClientServiceExt, NotificationContext, RunningService},
};
use serde_json::json;
use std::{
    future::pending,
    sync::{Arc, Mutex},
    time::Duration,
};
use tokio::time::{Instant, sleep};
use tower::Service;

const SECOND: Duration = Duration::from_secs(1);
const MINUTE: Duration = Duration::from_secs(60);

/// A client that keeps the progress that it hears of.
#[derive(Clone, Debug, Default)]
struct Listener(Arc<Mutex<Vec<ProgressNotificationParam>>>);

impl Listener {
    fn heard(&self) -> Vec<ProgressNotificationParam> {
        self.0.lock().unwrap().clone()
    }

    fn values(&self) -> Vec<f64> {
        self.heard().iter().map(|heard| heard.progress).collect()
    }

    fn messages(&self) -> Vec<String> {
        let heard = self.heard().into_iter();
        heard.filter_map(|heard| heard.message).collect()
    }
}

impl ClientHandler for Listener {
    async fn on_progress(
        &self,
        params: ProgressNotificationParam,
        _: NotificationContext<RoleClient>,
    ) {
        self.0.lock().unwrap().push(params);
    }
}

/// How a handler is served.
#[derive(Clone, Copy, Debug)]
enum By {
    /// `Resilient::run`.
    Run,
    /// The same, in the revision of MCP that knows no sessions.
    RunModern,
    /// rmcp's `serve`, as `StreamableHttpService` does.
    Serve,
    /// The same, in the revision of MCP that knows no sessions.
    ServeModern,
}

const WAYS: [By; 4] = [By::Run, By::RunModern, By::Serve, By::ServeModern];

async fn open<S>(by: By, server: Resilient<Desk, S>, client: Listener) -> Session
where
    S: Service<ServerCall, Response = ServerAnswer, Error = Failure, Future: Send>
        + Clone
        + Send
        + Sync
        + 'static,
{
    let (near, far) = tokio::io::duplex(1 << 16);
    match by {
        By::Run | By::RunModern => {
            tokio::spawn(server.run_with_stop(far, Stop::never()));
        }
        By::Serve | By::ServeModern => {
            tokio::spawn(async move { server.serve(far).await.unwrap().waiting().await });
        }
    }
    let lifecycle = match by {
        By::Run | By::Serve => ClientLifecycleMode::Initialize,
        By::RunModern | By::ServeModern => ClientLifecycleMode::Discover {
            preferred_versions: vec![rmcp::model::ProtocolVersion::V_2026_07_28],
        },
    };
    client.serve_with_lifecycle(near, lifecycle).await.unwrap()
}

type Session = RunningService<RoleClient, Listener>;

async fn report(run: &Run, progress: f64) {
    let token = run.context.meta.get_progress_token().unwrap();
    let params = ProgressNotificationParam::new(token, progress);
    run.context.peer.notify_progress(params).await.unwrap();
}

fn reads<F, A>(tool: F) -> Desk
where
    F: Fn(Run) -> A + Send + Sync + 'static,
    A: Future<Output = Result<CallToolResponse, ErrorData>> + Send + 'static,
{
    Desk::new(tool).annotated("print", ToolAnnotations::new().read_only(true))
}

/// The defaults, with the log in `log`.
fn defaults(log: &Log, desk: Desk) -> Resilient<Desk> {
    let layer = ResilienceLayer::builder().log(CallLogLayer::new(log.clone()));
    Resilient::with_preset(desk, &layer.build().unwrap())
}

#[track_caller]
fn assert_never_decreasing(values: &[f64]) {
    assert!(values.is_sorted(), "{values:?}");
}

#[tokio::test(start_paused = true)]
async fn a_silent_tool_of_nine_minutes_succeeds_and_its_client_hears_heartbeats() {
    for by in WAYS {
        let desk = reads(async |_| {
            sleep(9 * MINUTE).await;
            ok("done")
        });
        let listener = Listener::default();
        let session = open(by, Resilient::new(desk), listener.clone()).await;
        let begun = Instant::now();
        let answer = session.call_tool(call("print")).await.unwrap();
        assert_eq!(begun.elapsed(), 9 * MINUTE, "{by:?}");
        assert_eq!(text(&answer), "done");
        let values = listener.values();
        // The last comes when the answer does, before it or never.
        assert!((35..=36).contains(&values.len()), "{by:?}: {values:?}");
        assert_eq!(values[0], 0.0);
        assert!(values.windows(2).all(|pair| pair[0] < pair[1]));
        let messages = listener.messages();
        assert_eq!(messages[3], "still running after 60 s", "{by:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_tool_of_fifty_minutes_that_reports_every_ten_seconds_succeeds() {
    for by in WAYS {
        let desk = reads(async |run: Run| {
            for done in 1..300_u32 {
                sleep(10 * SECOND).await;
                report(&run, done.into()).await;
            }
            sleep(10 * SECOND).await;
            ok("done")
        });
        let listener = Listener::default();
        let session = open(by, Resilient::new(desk), listener.clone()).await;
        let begun = Instant::now();
        let answer = session.call_tool(call("print")).await.unwrap();
        assert_eq!(begun.elapsed(), 50 * MINUTE, "{by:?}");
        assert_eq!(text(&answer), "done");
        let expected: Vec<f64> = (1..300_u32).map(f64::from).collect();
        assert_eq!(listener.values(), expected, "the tool's own reports alone");
    }
}

#[tokio::test(start_paused = true)]
async fn a_tool_that_stops_reporting_ends_one_limit_later() {
    for by in WAYS {
        let log = Log::default();
        let desk = reads(async |run: Run| {
            for done in 1..=30_u32 {
                sleep(MINUTE).await;
                report(&run, done.into()).await;
            }
            pending().await
        });
        let session = open(by, defaults(&log, desk), Listener::default()).await;
        let begun = Instant::now();
        let answer = session.call_tool(call("print")).await.unwrap();
        assert_eq!(begun.elapsed(), 40 * MINUTE, "{by:?}");
        assert_eq!(answer.is_error, Some(true));
        assert_has(&log.only(), &json!({"class": "timeout", "attempts": 1}));
    }
}

#[tokio::test(start_paused = true)]
async fn a_tool_that_reports_for_ever_ends_at_the_ceiling() {
    for by in WAYS {
        let log = Log::default();
        let desk = reads(async |run: Run| {
            for done in 0_u32.. {
                report(&run, done.into()).await;
                sleep(7 * SECOND).await;
            }
            pending().await
        });
        let session = open(by, defaults(&log, desk), Listener::default()).await;
        let begun = Instant::now();
        let answer = session.call_tool(call("print")).await.unwrap();
        assert_eq!(begun.elapsed(), 60 * MINUTE, "{by:?}");
        assert_eq!(answer.is_error, Some(true));
        assert_has(&log.only(), &json!({"class": "timeout"}));
    }
}

#[tokio::test(start_paused = true)]
async fn a_tool_may_tick_by_hand_and_its_client_hears_heartbeats() {
    let desk = reads(async |run: Run| {
        let ticker = run.context.extensions.get::<Ticker>().unwrap().clone();
        for _ in 0..10 {
            sleep(5 * MINUTE).await;
            ticker.tick();
        }
        ok("done")
    });
    let listener = Listener::default();
    let session = open(By::Serve, Resilient::new(desk), listener.clone()).await;
    let begun = Instant::now();
    let answer = session.call_tool(call("print")).await.unwrap();
    assert_eq!(begun.elapsed(), 50 * MINUTE);
    assert_eq!(text(&answer), "done");
    assert!(listener.values().len() >= 199);
}

#[tokio::test(start_paused = true)]
async fn progress_never_decreases_across_attempts_and_heartbeats() {
    for by in WAYS {
        let desk = reads(async |run: Run| {
            // Heartbeats come first.
            sleep(50 * SECOND).await;
            let values = match run.number {
                1 => [0.0, 1.0, 3.0],
                _ => [0.0, 2.0, 4.0],
            };
            for value in values {
                report(&run, value).await;
            }
            match run.number {
                1 => Err(Failure::rate_limited(None).before_running().into()),
                _ => ok("done"),
            }
        });
        let log = Log::default();
        let retry = retry().retry_window(10 * MINUTE).build().unwrap();
        let layer = settings(&log).retry(retry).attempt_timeout(MINUTE);
        let server = Resilient::with_preset(desk, &layer.build().unwrap());
        let listener = Listener::default();
        let session = open(by, server, listener.clone()).await;
        session.call_tool(call("print")).await.unwrap();
        assert_has(&log.only(), &json!({"outcome": "success", "attempts": 2}));
        let values = listener.values();
        assert_never_decreasing(&values);
        let heartbeats: usize = listener.messages().len();
        assert_eq!(heartbeats, 6, "{by:?}: {values:?}");
        let whole: Vec<f64> = values.iter().map(|value| value.round()).collect();
        assert_eq!(whole[3..], [0.0, 1.0, 3.0, 3.0, 3.0, 3.0, 3.0, 3.0, 4.0]);
        let tokens = listener.heard();
        assert!(
            tokens
                .iter()
                .all(|heard| heard.progress_token == tokens[0].progress_token)
        );
    }
}
