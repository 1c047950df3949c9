//! Calls that take minutes and hours, with the defaults on both sides: a `Client` and a server behind
//! `Resilient::new`, over HTTP and over the stdio of a child process.
//!
//! Both ends share one runtime with paused time. Messages arrive without advancing the clock, so each
//! call takes exactly the time that its test states, also on a busy machine.
#![allow(clippy::similar_names, reason = "what one end says, the other hears")]

use crate::support::LIMIT;
use mcp_resilience::rmcp::{
    Resilient, Stop,
    client::{ChildProcess, Client, Http},
};
use rmcp::{
    ClientHandler, ErrorData, RoleClient, RoleServer, ServerHandler, ServiceExt,
    model::{
        CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock,
        ProgressNotificationParam, ServerCapabilities, ServerConfig,
    },
    service::{NotificationContext, RequestContext},
    transport::{
        StreamableHttpClientTransport, StreamableHttpServerConfig, StreamableHttpService,
        streamable_http_server::session::local::LocalSessionManager,
    },
};
use std::{future::pending, sync::Arc, time::Duration};
use tokio::{
    net::TcpListener,
    sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel},
    task::{JoinHandle, yield_now},
    time::{Instant, advance, sleep_until},
};

const MS: Duration = Duration::from_millis(1);
const SECOND: Duration = Duration::from_secs(1);
const MINUTE: Duration = Duration::from_secs(60);

/// How a tool goes on.
#[derive(Clone, Copy, Debug)]
enum Pace {
    /// Says nothing for so long, and answers.
    Silent(Duration),
    /// Reports so often, every 10 s, and answers 10 s later.
    Reports(u32),
    /// Reports so often, every 10 s, and hangs.
    Stops(u32),
    /// Reports every 10 s.
    ForEver,
}

const EVERY: Duration = Duration::from_secs(10);

#[derive(Clone)]
struct Tool {
    pace: Pace,
    began: UnboundedSender<()>,
}

impl ServerHandler for Tool {
    fn get_info(&self) -> ServerConfig {
        ServerConfig::new(ServerCapabilities::builder().enable_tools().build())
    }

    async fn call_tool(
        &self,
        _: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let begun = Instant::now();
        self.began.send(()).unwrap();
        let reports = match self.pace {
            Pace::Silent(_) => 0,
            Pace::Reports(times) | Pace::Stops(times) => times,
            Pace::ForEver => u32::MAX,
        };
        let token = context.meta.get_progress_token().unwrap();
        for done in 1..=reports {
            sleep_until(begun + EVERY * done).await;
            let report = ProgressNotificationParam::new(token.clone(), done.into());
            context.peer.notify_progress(report).await.unwrap();
        }
        match self.pace {
            Pace::Silent(time) => sleep_until(begun + time).await,
            Pace::Reports(times) => sleep_until(begun + EVERY * (times + 1)).await,
            Pace::Stops(_) | Pace::ForEver => pending().await,
        }
        Ok(CallToolResult::success(vec![ContentBlock::text("done")]).into())
    }
}

/// A handler that records progress.
#[derive(Clone)]
struct Hears(UnboundedSender<f64>);

impl ClientHandler for Hears {
    async fn on_progress(
        &self,
        params: ProgressNotificationParam,
        _: NotificationContext<RoleClient>,
    ) {
        let _ = self.0.send(params.progress);
    }
}

/// How the two ends are connected.
#[derive(Clone, Copy, Debug)]
enum By {
    Http,
    Stdio,
    /// HTTP, to a client of rmcp's own, which has no limits: those of the server are seen.
    HttpUnlimited,
}

/// A call that is under way.
struct Call {
    began: UnboundedReceiver<()>,
    hears: UnboundedReceiver<f64>,
    ends: JoinHandle<(CallToolResult, Duration)>,
    // The clock of a runtime moves by itself only while no such thread runs. If a test hangs, it ends.
    _stands_still: std::sync::mpsc::Sender<()>,
}

impl Call {
    async fn begin(by: By, pace: Pace) -> Self {
        let (stands_still, ended) = std::sync::mpsc::channel::<()>();
        tokio::task::spawn_blocking(move || ended.recv_timeout(LIMIT));
        let (begins, began) = unbounded_channel();
        let (heard, hears) = unbounded_channel();
        let server = Resilient::new(Tool {
            pace,
            began: begins,
        });
        let ends = match by {
            By::Http => {
                let url = serve_http(server).await;
                let connector = Http::new(url).handler(Hears(heard));
                let client = Client::connect(connector).await.unwrap();
                tokio::spawn(async move { call(&client).await })
            }
            By::Stdio => {
                let connector = ChildProcess::new("bash")
                    .arg("-c")
                    .arg(serve_stdio(server).await);
                let client = Client::connect(connector.handler(Hears(heard)))
                    .await
                    .unwrap();
                tokio::spawn(async move { call(&client).await })
            }
            By::HttpUnlimited => {
                let url = serve_http(server).await;
                let transport = StreamableHttpClientTransport::from_uri(url);
                let client = Hears(heard).serve(transport).await.unwrap();
                tokio::spawn(async move {
                    let begun = Instant::now();
                    let params = CallToolRequestParams::new("print");
                    let result = client.call_tool(params).await.unwrap();
                    (result, begun.elapsed())
                })
            }
        };
        let mut call = Self {
            began,
            hears,
            ends,
            _stands_still: stands_still,
        };
        call.began.recv().await.unwrap();
        call
    }

    /// Lets this much time pass, and wakes all waiting tasks.
    async fn pass(time: Duration) {
        advance(time).await;
        for _ in 0..100 {
            yield_now().await;
        }
    }

    /// Lets this much time pass, after which the client gets progress.
    async fn hear(&mut self, time: Duration) -> f64 {
        Self::pass(time).await;
        let heard = self.hears.recv().await.unwrap();
        Self::pass(Duration::ZERO).await;
        heard
    }

    /// The call ends after this time, and not earlier.
    async fn end(self, time: Duration) -> (CallToolResult, Duration) {
        Self::pass(time.checked_sub(MS).unwrap()).await;
        assert!(!self.ends.is_finished(), "too early");
        Self::pass(MS).await;
        self.ends.await.unwrap()
    }
}

async fn call(client: &Client) -> (CallToolResult, Duration) {
    let begun = Instant::now();
    let answer = client.call_tool(CallToolRequestParams::new("print")).await;
    let CallToolResponse::Complete(result) = answer.unwrap() else {
        panic!("complete");
    };
    (result, begun.elapsed())
}

async fn serve_http(server: Resilient<Tool>) -> String {
    // rmcp's own ends a session in which nothing is sent for 5 minutes.
    let mut sessions = LocalSessionManager::default();
    sessions.session_config.keep_alive = None;
    let service = StreamableHttpService::new(
        move || Ok(server.clone()),
        Arc::new(sessions),
        // rmcp's own pings on idle streams go by the clock of the machine.
        StreamableHttpServerConfig::default().with_sse_keep_alive(None),
    );
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/mcp", listener.local_addr().unwrap());
    let router = axum::Router::new().nest_service("/mcp", service);
    tokio::spawn(async move { axum::serve(listener, router).await.unwrap() });
    url
}

/// A script whose stdio is connected to a server in this process, because a child process would have
/// another clock.
async fn serve_stdio(server: Resilient<Tool>) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    tokio::spawn(async move {
        let (stream, _) = listener.accept().await.unwrap();
        server.run_with_stop(stream, Stop::never()).await
    });
    format!("exec 3<>/dev/tcp/127.0.0.1/{port}; cat <&3 & exec cat >&3")
}

#[track_caller]
fn assert_done((result, took): &(CallToolResult, Duration), expected: Duration) {
    assert_ne!(result.is_error, Some(true), "{result:?}");
    assert_eq!(*took, expected);
}

#[track_caller]
fn assert_failed((result, took): &(CallToolResult, Duration), expected: Duration) {
    assert_eq!(result.is_error, Some(true), "{result:?}");
    assert_eq!(*took, expected);
}

/// The server's heartbeats keep the client, whose own limit is 60 s without progress.
async fn a_silent_tool_of_nine_minutes_succeeds(by: By) {
    let mut call = Call::begin(by, Pace::Silent(9 * MINUTE)).await;
    for _ in 1..36 {
        assert!(call.hear(15 * SECOND).await < 0.001, "a heartbeat");
    }
    assert_done(&call.end(15 * SECOND).await, 9 * MINUTE);
}

async fn a_tool_of_fifty_minutes_that_reports_every_ten_seconds_succeeds(by: By) {
    let mut call = Call::begin(by, Pace::Reports(299)).await;
    for done in 1..300 {
        assert!((call.hear(EVERY).await - f64::from(done)).abs() < 0.001);
    }
    assert_done(&call.end(EVERY).await, 50 * MINUTE);
}

async fn a_tool_that_stops_reporting_ends_one_limit_later(by: By) {
    let mut call = Call::begin(by, Pace::Stops(30)).await;
    for _ in 0..30 {
        call.hear(EVERY).await;
    }
    let limit = match by {
        By::Http | By::Stdio => MINUTE,
        By::HttpUnlimited => 10 * MINUTE,
    };
    assert_failed(&call.end(limit).await, 5 * MINUTE + limit);
}

async fn a_tool_that_reports_for_ever_ends_at_the_ceiling(by: By) {
    let mut call = Call::begin(by, Pace::ForEver).await;
    for _ in 1..360 {
        call.hear(EVERY).await;
    }
    assert_failed(&call.end(EVERY).await, 60 * MINUTE);
}

macro_rules! by_each_way {
    ($($way:ident: $by:ident, $($scenario:ident)*;)*) => {
        $(mod $way {
            $(#[tokio::test(start_paused = true)] async fn $scenario() {
                super::$scenario(super::By::$by).await;
            })*
        })*
    };
}

by_each_way! {
    over_http: Http,
        a_silent_tool_of_nine_minutes_succeeds
        a_tool_of_fifty_minutes_that_reports_every_ten_seconds_succeeds
        a_tool_that_stops_reporting_ends_one_limit_later
        a_tool_that_reports_for_ever_ends_at_the_ceiling;
    over_stdio: Stdio,
        a_silent_tool_of_nine_minutes_succeeds
        a_tool_of_fifty_minutes_that_reports_every_ten_seconds_succeeds
        a_tool_that_stops_reporting_ends_one_limit_later
        a_tool_that_reports_for_ever_ends_at_the_ceiling;
    over_http_to_a_client_without_limits: HttpUnlimited,
        a_silent_tool_of_nine_minutes_succeeds
        a_tool_of_fifty_minutes_that_reports_every_ten_seconds_succeeds
        a_tool_that_stops_reporting_ends_one_limit_later
        a_tool_that_reports_for_ever_ends_at_the_ceiling;
}
