//! Limits follow the progress that a tool reports, and clients hear of calls that wait.
#![allow(clippy::float_cmp, reason = "progress is compared as it was sent")]

use axum::{
    Router,
    body::{Body, HttpBody, to_bytes},
    http::{Request, Response},
};
use mcp_resilience::{ResilienceLayer, call_log::CallLogLayer, tower_mcp::ResilientLayer};
use serde_json::{Value, json};
use std::{
    future::poll_fn,
    pin::Pin,
    sync::{
        Arc, Mutex,
        atomic::{AtomicU32, Ordering::Relaxed},
    },
    time::Duration,
};
use tokio::{
    io::{AsyncBufReadExt, AsyncWriteExt, BufReader, DuplexStream, WriteHalf, split},
    sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel},
    time::{Instant, sleep},
};
use tower::ServiceExt;
use tower_mcp::{
    CallToolResult, HttpTransport, McpRouter, StdioTransport, Tool, ToolBuilder,
    extract::{Context, RawArgs},
};

const SECOND: Duration = Duration::from_secs(1);
const MINUTE: Duration = Duration::from_secs(60);

/// How a router is served.
#[derive(Clone, Copy, Debug)]
enum By {
    Stdio,
    Http,
}

const WAYS: [By; 2] = [By::Stdio, By::Http];

type Heard = Arc<Mutex<Vec<Value>>>;

/// A client that keeps the progress that it hears of.
struct Client {
    heard: Heard,
    answers: UnboundedReceiver<Value>,
    line: Line,
}

enum Line {
    Stdio(WriteHalf<DuplexStream>),
    Http {
        server: Router,
        session: String,
        answered: UnboundedSender<Value>,
    },
}

/// A layer with the defaults.
fn defaults() -> ResilientLayer {
    let preset = ResilienceLayer::builder().log(CallLogLayer::off());
    ResilientLayer::with_preset(&preset.build().unwrap())
}

fn serve(router: McpRouter, layer: ResilientLayer) -> Router {
    HttpTransport::new(router).layer(layer).into_router()
}

impl Client {
    /// Connects to a router with this tool.
    async fn open(by: By, tool: Tool) -> Self {
        let router = McpRouter::new().tool(tool);
        match by {
            By::Stdio => Self::over_stdio(router, defaults()).await,
            By::Http => Self::over_http(serve(router, defaults())).await,
        }
    }

    async fn over_stdio(router: McpRouter, layer: ResilientLayer) -> Self {
        let (heard, (answered, answers)) = (Heard::default(), unbounded_channel());
        let (near, far) = tokio::io::duplex(1 << 16);
        tokio::spawn(async move {
            let (reader, writer) = split(far);
            let mut transport = StdioTransport::new(router).layer(layer);
            transport.run_with_streams(reader, writer).await
        });
        let (reader, writer) = split(near);
        let kept = Arc::clone(&heard);
        tokio::spawn(async move {
            let mut lines = BufReader::new(reader).lines();
            while let Ok(Some(line)) = lines.next_line().await {
                sort(&line, &kept, &answered);
            }
        });
        let line = Line::Stdio(writer);
        let mut client = Self {
            heard,
            answers,
            line,
        };
        client.initialize().await;
        client
    }

    async fn over_http(server: Router) -> Self {
        let (heard, (answered, answers)) = (Heard::default(), unbounded_channel());
        let response = http(&server, "POST", "", initialize()).await;
        let session = response.headers()["mcp-session-id"].to_str().unwrap();
        let line = Line::Http {
            session: session.to_owned(),
            server: server.clone(),
            answered: answered.clone(),
        };
        let mut events = http(&server, "GET", session, Value::Null).await.into_body();
        let kept = Arc::clone(&heard);
        tokio::spawn(async move {
            let mut text = String::new();
            while let Some(Ok(frame)) = poll_fn(|cx| Pin::new(&mut events).poll_frame(cx)).await {
                text.push_str(std::str::from_utf8(frame.data_ref().unwrap()).unwrap());
                while let Some((line, rest)) = text.split_once('\n') {
                    if let Some(data) = line.strip_prefix("data:") {
                        sort(data, &kept, &answered);
                    }
                    text = rest.to_owned();
                }
            }
        });
        let mut client = Self {
            heard,
            answers,
            line,
        };
        client.send(initialized()).await;
        client
    }

    async fn initialize(&mut self) {
        self.send(initialize()).await;
        self.answers.recv().await.unwrap();
        self.send(initialized()).await;
    }

    async fn send(&mut self, message: Value) {
        match &mut self.line {
            Line::Stdio(writer) => {
                let line = format!("{message}\n");
                writer.write_all(line.as_bytes()).await.unwrap();
            }
            Line::Http {
                server,
                session,
                answered,
            } => {
                let (server, session) = (server.clone(), session.clone());
                let answered = answered.clone();
                let posted = tokio::spawn(async move {
                    let is_call = message.get("id").is_some();
                    let body = http(&server, "POST", &session, message).await.into_body();
                    if is_call {
                        let body = to_bytes(body, 1 << 20).await.unwrap();
                        answered
                            .send(serde_json::from_slice(&body).unwrap())
                            .unwrap();
                    }
                });
                drop(posted);
                // What is sent later arrives later.
                tokio::task::yield_now().await;
            }
        }
    }

    /// Calls the tool, and returns the text of its answer.
    async fn call(&mut self, token: Option<&str>) -> String {
        let meta = token.map(|token| json!({"progressToken": token}));
        let params = json!({"name": "print", "arguments": {}, "_meta": meta});
        let mut message = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call"});
        message["params"] = params;
        if meta.is_none() {
            message["params"].as_object_mut().unwrap().remove("_meta");
        }
        self.send(message).await;
        let answer = self.answers.recv().await.unwrap();
        // A stream of events may be a moment later.
        sleep(SECOND).await;
        let text = answer["result"]["content"][0]["text"].as_str();
        text.unwrap_or_else(|| panic!("{answer}")).to_owned()
    }

    fn values(&self) -> Vec<f64> {
        let heard = self.heard.lock().unwrap();
        heard
            .iter()
            .map(|heard| heard["progress"].as_f64().unwrap())
            .collect()
    }

    fn messages(&self) -> Vec<String> {
        let heard = self.heard.lock().unwrap();
        let messages = heard.iter().filter_map(|heard| heard["message"].as_str());
        messages.map(str::to_owned).collect()
    }

    fn tokens(&self) -> Vec<Value> {
        let heard = self.heard.lock().unwrap();
        heard
            .iter()
            .map(|heard| heard["progressToken"].clone())
            .collect()
    }
}

/// A message from the server: an answer, or progress.
fn sort(message: &str, heard: &Heard, answered: &UnboundedSender<Value>) {
    let message: Value = serde_json::from_str(message).unwrap();
    match message.get("method") {
        Some(_) => heard.lock().unwrap().push(message["params"].clone()),
        None => answered.send(message).unwrap(),
    }
}

async fn http(server: &Router, method: &str, session: &str, message: Value) -> Response<Body> {
    let request = Request::builder()
        .method(method)
        .uri("/")
        .header("host", "localhost")
        .header("content-type", "application/json")
        .header("accept", "application/json, text/event-stream");
    let request = match session {
        "" => request,
        session => request
            .header("mcp-session-id", session)
            .header("mcp-protocol-version", "2025-11-25"),
    };
    let request = request.body(Body::from(message.to_string())).unwrap();
    let response = server.clone().oneshot(request).await.unwrap();
    assert!(response.status().is_success(), "{response:?}");
    response
}

fn initialize() -> Value {
    let client = json!({"name": "raw", "version": "1"});
    let params = json!({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": client});
    json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params})
}

fn initialized() -> Value {
    json!({"jsonrpc": "2.0", "method": "notifications/initialized"})
}

/// A read-only tool, which may be repeated.
fn reads<F, A>(run: F) -> Tool
where
    F: Fn(Context) -> A + Clone + Send + Sync + 'static,
    A: Future<Output = tower_mcp::Result<CallToolResult>> + Send + 'static,
{
    ToolBuilder::new("print")
        .read_only()
        .extractor_handler((), move |context: Context, _: RawArgs| run(context))
        .build()
}

fn done() -> CallToolResult {
    CallToolResult::text("done")
}

#[tokio::test(start_paused = true)]
async fn a_tool_that_reports_may_take_longer_than_its_limit() {
    for by in WAYS {
        let tool = reads(async |context: Context| {
            for page in 1..=5 {
                sleep(9 * MINUTE).await;
                context
                    .report_progress(f64::from(page), Some(5.0), None)
                    .await;
            }
            Ok(done())
        });
        let mut client = Client::open(by, tool).await;
        let begun = Instant::now();
        assert_eq!(client.call(Some("a")).await, "done", "{by:?}");
        assert_eq!(begun.elapsed(), 45 * MINUTE + SECOND, "{by:?}");
        let values = client.values();
        assert!(values.is_sorted(), "{values:?}");
        assert_eq!(values.last(), Some(&5.0));
        // Only until the first report.
        assert_eq!(values.len(), 5 + client.messages().len());
        let beats = client.messages().len();
        assert!((35..=36).contains(&beats), "{by:?}: {beats} heartbeats");
    }
}

#[tokio::test(start_paused = true)]
async fn a_silent_tool_runs_into_its_limit_and_its_client_hears_heartbeats() {
    for by in WAYS {
        let tool = reads(async |_| {
            sleep(9 * MINUTE).await;
            Ok(done())
        });
        let mut client = Client::open(by, tool).await;
        assert_eq!(client.call(Some("a")).await, "done");
        let values = client.values();
        assert!((35..=36).contains(&values.len()), "{by:?}: {values:?}");
        assert_eq!(values[0], 0.0);
        assert!(values.windows(2).all(|pair| pair[0] < pair[1]));
        assert_eq!(client.messages()[3], "still running after 60 s", "{by:?}");

        // Heartbeats are no progress of the tool.
        let tool = reads(async |_| {
            sleep(11 * MINUTE).await;
            Ok(done())
        });
        let mut client = Client::open(by, tool).await;
        let text = client.call(Some("a")).await;
        assert!(text.contains("no answer in time"), "{text}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_client_without_a_token_hears_nothing() {
    for by in WAYS {
        let tool = reads(async |context: Context| {
            context.report_progress(1.0, None, None).await;
            sleep(MINUTE).await;
            Ok(done())
        });
        let mut client = Client::open(by, tool).await;
        assert_eq!(client.call(None).await, "done");
        assert_eq!(client.values(), [0.0; 0], "{by:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_repeated_call_never_reports_less_than_before() {
    for by in WAYS {
        let runs = Arc::new(AtomicU32::new(0));
        let tool = reads(move |context: Context| {
            let run = runs.fetch_add(1, Relaxed);
            async move {
                for page in 1..=5 {
                    context.report_progress(f64::from(page), None, None).await;
                }
                if run == 0 {
                    return Err(mcp_resilience::Failure::unavailable(None)
                        .before_running()
                        .into());
                }
                Ok(done())
            }
        });
        let mut client = Client::open(by, tool).await;
        assert_eq!(client.call(Some("a")).await, "done");
        let values = client.values();
        let expected = [1.0, 2.0, 3.0, 4.0, 5.0, 5.0, 5.0, 5.0, 5.0, 5.0];
        assert_eq!(values, expected, "{by:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn reports_of_a_task_that_the_tool_left_still_arrive() {
    for by in WAYS {
        let tool = reads(async |context: Context| {
            tokio::spawn(async move {
                sleep(10 * SECOND).await;
                context.report_progress(1.0, None, Some("printed")).await;
            });
            Ok(done())
        });
        let mut client = Client::open(by, tool).await;
        assert_eq!(client.call(Some("a")).await, "done");
        assert_eq!(client.messages(), [""; 0]);
        sleep(MINUTE).await;
        assert_eq!(client.messages(), ["printed"], "{by:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn each_client_of_a_server_hears_of_its_own_calls_alone() {
    let tool = reads(async |context: Context| {
        context.report_progress(1.0, None, None).await;
        sleep(20 * SECOND).await;
        Ok(done())
    });
    let server = serve(McpRouter::new().tool(tool), defaults());
    let mut clients = Vec::new();
    for _ in 0..10 {
        clients.push(Client::over_http(server.clone()).await);
    }
    for (number, client) in clients.iter_mut().enumerate() {
        let token = format!("token {number}");
        assert_eq!(client.call(Some(&token)).await, "done");
        assert_eq!(client.call(Some(&token)).await, "done");
        assert_eq!(client.tokens(), [json!(token), json!(token)]);
    }
}
