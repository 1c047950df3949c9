//! The first requests of a session, while the server has not answered the request for its stream.
#![expect(
    deprecated,
    reason = "MCP has deprecated the logging level, and servers still have it"
)]

use crate::support::{FrozenClock, Log, MS, SECOND, reconnect, resilience, retry, within};
use axum::{
    Router,
    body::Bytes,
    http::{HeaderMap, StatusCode},
    response::{IntoResponse, Response},
    routing::get,
};
use futures_util::FutureExt;
use mcp_resilience::{
    Class, Delivery, Failure,
    observe::Event,
    rmcp::client::{Client, Http},
};
use rmcp::model::{
    CallToolRequestParams, LoggingLevel, SetLevelRequestParams, SubscribeRequestParams,
};
use serde_json::{Value, json};
use std::{
    pin::Pin,
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed},
    },
    time::Duration,
};
use tokio::{
    net::TcpListener,
    time::{Instant, advance, sleep},
};

/// A server that answers the request for the stream after a pause.
struct Server {
    url: String,
    seen: Arc<Mutex<Seen>>,
}

#[derive(Default)]
struct Seen {
    sessions: usize,
    has_answered: bool,
    /// Whether a request that has to wait came before the answer.
    is_early: bool,
    /// The requests that have to wait, with the numbers of their sessions.
    requests: Vec<(String, String)>,
}

impl Server {
    async fn start(pause: Duration) -> Self {
        let seen = Arc::<Mutex<Seen>>::default();
        let listen = {
            let seen = Arc::clone(&seen);
            move || async move {
                sleep(pause).await;
                seen.lock().unwrap().has_answered = true;
                StatusCode::METHOD_NOT_ALLOWED
            }
        };
        let post = {
            let seen = Arc::clone(&seen);
            move |headers: HeaderMap, body: Bytes| async move {
                seen.lock().unwrap().post(&headers, &body)
            }
        };
        let router = Router::new().route("/mcp", get(listen).post(post));
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/mcp", listener.local_addr().unwrap());
        tokio::spawn(async move { axum::serve(listener, router).await.unwrap() });
        Self { url, seen }
    }

    /// Never answers it.
    async fn silent() -> Self {
        Self::start(100_000 * SECOND).await
    }

    fn is_early(&self) -> bool {
        self.seen.lock().unwrap().is_early
    }

    /// The sessions of the requests of this method.
    fn sessions(&self, method: &str) -> Vec<String> {
        let seen = self.seen.lock().unwrap();
        let requests = seen.requests.iter();
        let made = requests.filter(|(made, _)| made == method);
        made.map(|(_, session)| session.clone()).collect()
    }
}

impl Seen {
    fn post(&mut self, headers: &HeaderMap, body: &[u8]) -> Response {
        let message: Value = serde_json::from_slice(body).unwrap();
        let method = message["method"].as_str().unwrap_or_default();
        let session = headers.get("mcp-session-id");
        let session = session.map(|session| session.to_str().unwrap().to_owned());
        let session = session.unwrap_or_else(|| {
            self.sessions += 1;
            self.sessions.to_string()
        });
        let result = match method {
            "initialize" => json!({
                "protocolVersion": "2025-11-25",
                "capabilities": {"tools": {}},
                "serverInfo": {"name": "slow", "version": "1"},
            }),
            // Listed differently in each session.
            "tools/list" => json!({"tools": [
                {"name": "look", "description": session, "inputSchema": {"type": "object"}},
            ]}),
            "resources/list" => json!({"resources": []}),
            "tools/call" | "resources/subscribe" | "logging/setLevel" => {
                self.is_early |= !self.has_answered;
                self.requests.push((method.to_owned(), session.clone()));
                match method {
                    "tools/call" => json!({"content": []}),
                    _ => json!({}),
                }
            }
            _ => return StatusCode::ACCEPTED.into_response(),
        };
        let answer = json!({"jsonrpc": "2.0", "id": message["id"], "result": result});
        let headers = [
            ("mcp-session-id", &*session),
            ("content-type", "application/json"),
        ];
        (headers, answer.to_string()).into_response()
    }
}

type Ask = fn(&Client) -> Pin<Box<dyn Future<Output = Result<(), Failure>> + Send + '_>>;

const METHODS: [&str; 3] = ["resources/subscribe", "logging/setLevel", "tools/call"];

/// Requests that wait for the stream, by these methods.
fn requests() -> [Ask; 3] {
    [
        |client| {
            let params = SubscribeRequestParams::new("file:///a");
            Box::pin(client.subscribe(params))
        },
        |client| {
            let params = SetLevelRequestParams::new(LoggingLevel::Info);
            Box::pin(client.set_level(params))
        },
        |client| {
            Box::pin(client.with_peer(async |peer| {
                let look = CallToolRequestParams::new("look");
                peer.call_tool(look).await.map(drop)
            }))
        },
    ]
}

#[tokio::test]
async fn the_first_requests_come_after_the_stream() {
    for request in requests() {
        let server = Server::start(200 * MS).await;
        let client = within("a connection", Client::connect(Http::new(&*server.url)))
            .await
            .unwrap();
        // A list does not wait.
        client.list_resources().await.unwrap();
        within("an answer", request(&client)).await.unwrap();
        assert!(!server.is_early());
    }
}

/// The stream is never answered, so that the first call waits longer than its attempt may take.
#[tokio::test]
async fn the_wait_for_the_stream_is_no_part_of_the_limit_of_a_request() {
    let limit = 400 * MS;
    for ready_timeout in [SECOND, 10 * MS] {
        let server = Server::silent().await;
        let log = Log::default();
        let resilience = resilience(&log, retry().max_attempts(1)).attempt_timeout(limit);
        let resilience = resilience.build().unwrap();
        let connect = async |url: &str| {
            let client = Client::builder(Http::new(url))
                .resilience(resilience.clone())
                .reconnect(reconnect().ready_timeout(ready_timeout).build().unwrap())
                .request_timeout(limit);
            within("a connection", client.connect()).await.unwrap()
        };
        let client = connect(&server.url).await;
        let call = client.call("look", json!({}));
        let answer = within("an answer", call.into_future()).await.unwrap();
        assert_ne!(answer.is_error, Some(true), "{}", log.line());
        let client = connect(&server.url).await;
        let level = SetLevelRequestParams::new(LoggingLevel::Info);
        within("an answer", client.set_level(level)).await.unwrap();
    }
}

#[tokio::test]
async fn the_first_call_comes_after_the_stream() {
    let server = Server::start(200 * MS).await;
    let client = within("a connection", Client::connect(Http::new(&*server.url))).await;
    let call = client.unwrap().call("look", json!({}));
    within("an answer", call.into_future()).await.unwrap();
    assert!(!server.is_early());
}

#[tokio::test]
async fn a_call_of_the_on_connect_hook_comes_after_the_stream_too() {
    let server = Server::start(200 * MS).await;
    let called = Arc::new(AtomicBool::new(false));
    let is_called = Arc::clone(&called);
    let client = Client::builder(Http::new(&*server.url)).on_connect(move |peer| {
        let is_called = Arc::clone(&is_called);
        async move {
            let outcome = peer.call_tool(CallToolRequestParams::new("look")).await;
            is_called.store(outcome.is_ok(), Relaxed);
            outcome.map(drop)
        }
    });
    within("a connection", client.connect()).await.unwrap();
    assert!(called.load(Relaxed) && !server.is_early());
}

#[tokio::test(start_paused = true)]
async fn a_request_that_is_dropped_while_it_waits_for_the_stream_is_not_given_up() {
    let _clock = FrozenClock::new();
    for request in requests() {
        let server = Server::silent().await;
        let probes = Arc::new(AtomicUsize::new(0));
        let count = Arc::clone(&probes);
        let observer = move |event: &Event<'_>| {
            if let Event::ProbeStarted { .. } = event {
                count.fetch_add(1, Relaxed);
            }
        };
        let reconnect = reconnect().give_up_limit(1).observer(observer);
        let client = Client::builder(Http::new(&*server.url)).reconnect(reconnect.build().unwrap());
        let client = within("a connection", client.connect()).await.unwrap();
        assert!(request(&client).now_or_never().is_none(), "it waits");
        assert_eq!(probes.load(Relaxed), 0, "it was not sent");
        // One that was sent counts.
        advance(500 * MS).await;
        assert!(request(&client).now_or_never().is_none());
        assert_eq!(probes.load(Relaxed), 1);
    }
}

#[tokio::test(start_paused = true)]
async fn a_request_that_waits_for_the_stream_is_made_on_the_next_connection_if_its_own_is_replaced()
{
    let _clock = FrozenClock::new();
    // A subscription is restored at the dial too.
    for (request, method) in requests().into_iter().zip(METHODS).skip(1) {
        let server = Server::silent().await;
        let client = Client::connect(Http::new(&*server.url));
        let client = within("a connection", client).await.unwrap();
        let mut waiting = request(&client);
        assert!(waiting.as_mut().now_or_never().is_none());
        within("the next", client.reconnect()).await.unwrap();
        advance(500 * MS).await;
        within("an answer", waiting).await.unwrap();
        assert_eq!(server.sessions(method), ["2"], "{method}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_request_whose_connections_are_all_replaced_while_it_waits_fails_after_the_ready_timeout()
{
    let _clock = FrozenClock::new();
    // A dial that restores a subscription waits for the stream itself.
    for (request, method) in requests().into_iter().zip(METHODS).skip(1) {
        let server = Server::silent().await;
        let reconnect = reconnect().ready_timeout(SECOND);
        let client = Client::builder(Http::new(&*server.url)).reconnect(reconnect.build().unwrap());
        let client = within("a connection", client.connect()).await.unwrap();
        let begun = Instant::now();
        let mut waiting = request(&client);
        let failure = loop {
            if let Some(outcome) = waiting.as_mut().now_or_never() {
                break outcome.unwrap_err();
            }
            assert!(begun.elapsed() < 2 * SECOND, "{method}: it still waits");
            within("the next", client.reconnect()).await.unwrap();
            // Shorter than the wait for the stream.
            advance(400 * MS).await;
        };
        assert_eq!(begun.elapsed(), 1200 * MS, "{method}");
        assert_eq!(failure.class(), Class::Connection, "{method}");
        assert_eq!(failure.delivery(), Delivery::NotSent, "{method}");
        assert!(server.sessions(method).is_empty(), "{method}");
    }
}

/// The list of tools was read when this ends, so that the rest of the dial has begun.
async fn listed(client: &Client) {
    let mut changes = client.catalog().changes();
    within("a list", changes.next()).await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn subscriptions_and_the_log_level_are_restored_within_a_short_start_timeout() {
    let _clock = FrozenClock::new();
    let server = Server::silent().await;
    let connector = Http::new(&*server.url).start_timeout(400 * MS);
    let client = within("a connection", Client::connect(connector))
        .await
        .unwrap();
    advance(500 * MS).await;
    for request in &requests()[..2] {
        within("an answer", request(&client)).await.unwrap();
    }
    let reconnecting = tokio::spawn({
        let client = client.clone();
        async move { client.reconnect().await }
    });
    listed(&client).await;
    // A quarter of the start timeout.
    advance(100 * MS).await;
    within("the next", reconnecting).await.unwrap().unwrap();
    for method in &METHODS[..2] {
        assert_eq!(server.sessions(method), ["1", "2"], "{method}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_subscription_whose_request_was_dropped_is_not_made_on_the_next_connection() {
    let _clock = FrozenClock::new();
    let server = Server::silent().await;
    let client = Client::connect(Http::new(&*server.url));
    let client = within("a connection", client).await.unwrap();
    let kept = SubscribeRequestParams::new("file:///a");
    for restored in [&[][..], &["2", "3"]] {
        let subscribe = client.subscribe(kept.clone());
        assert!(subscribe.now_or_never().is_none(), "it waits");
        let reconnecting = tokio::spawn({
            let client = client.clone();
            async move { client.reconnect().await }
        });
        listed(&client).await;
        advance(500 * MS).await;
        within("the next", reconnecting).await.unwrap().unwrap();
        assert_eq!(server.sessions("resources/subscribe"), restored);
        // One that was answered is kept, also if it is asked for once more and that is dropped.
        if restored.is_empty() {
            within("an answer", client.subscribe(kept.clone()))
                .await
                .unwrap();
            client.reconnect().now_or_never();
        }
    }
}
