//! The client, against the hostile server in another process.

use crate::support::{Lines, program::program, within};
use mcp_resilience::{
    Class, Failure, ResilienceLayer,
    backoff::{Backoff, Jitter},
    call_log::{CallLogLayer, Record, Sink},
    policy::Policy,
    reconnect::ReconnectLayer,
    retry::RetryLayer,
    tower_mcp::client::{Client, ClientBuilder, Connector},
};
use serde_json::{Value, json};
use std::{
    fs,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    sync::{
        Arc, Mutex,
        atomic::{AtomicU32, Ordering::Relaxed},
    },
    time::Duration,
};
use tokio::task::JoinSet;
use tower_mcp::{
    CallToolResult, Error,
    client::{HttpClientConfig, HttpClientTransport, StdioClientTransport},
};

const SECOND: Duration = Duration::from_secs(1);

/// The ledger of a hostile server, over all its starts.
struct Ledger(PathBuf);

impl Ledger {
    fn new() -> Self {
        static MADE: AtomicU32 = AtomicU32::new(0);
        let number = MADE.fetch_add(1, Relaxed);
        let name = format!("tower-mcp-{}-{number}.jsonl", std::process::id());
        Self(Path::new(env!("CARGO_TARGET_TMPDIR")).join(name))
    }

    fn count(&self, event: &str) -> usize {
        let text = fs::read_to_string(&self.0).unwrap_or_default();
        let events = text
            .lines()
            .map(|line| serde_json::from_str::<Value>(line).unwrap());
        events.filter(|line| line["event"] == event).count()
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(program("hostile"));
        command.arg("--ledger").arg(&self.0).args(arguments);
        command
    }
}

impl Drop for Ledger {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.0);
    }
}

/// A server over HTTP, killed and waited for when this is dropped.
struct Server {
    process: Child,
    url: String,
}

impl Server {
    async fn start(ledger: &Ledger, arguments: &[&str]) -> Self {
        let mut process = ledger
            .command(arguments)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let stderr = process.stderr.take().unwrap();
        let stderr = tokio::process::ChildStderr::from_std(stderr).unwrap();
        let url = Lines::read(stderr)
            .first("a URL", |line| line.starts_with("http://"))
            .await;
        Self { process, url }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// The lines of the log.
#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<Value>>>);

impl Log {
    fn last(&self) -> Value {
        self.0.lock().unwrap().last().cloned().unwrap()
    }

    fn len(&self) -> usize {
        self.0.lock().unwrap().len()
    }
}

impl Sink for Log {
    fn write(&self, record: &Record<'_>) {
        let line = serde_json::from_str(&record.to_json()).unwrap();
        self.0.lock().unwrap().push(line);
    }
}

/// Attempts of 10 s in a call that may take as long as a busy machine needs, with short waits.
fn settings(log: &Log) -> (ResilienceLayer, ReconnectLayer<()>) {
    let retry = RetryLayer::builder()
        .backoff(Backoff::new(SECOND / 100, SECOND / 10).unwrap())
        .policy(Policy::new().no_budget())
        .deadline(600 * SECOND);
    let resilience = ResilienceLayer::builder()
        .retry(retry.build().unwrap())
        .attempt_timeout(10 * SECOND)
        .log(CallLogLayer::new(log.clone()));
    let reconnect = ReconnectLayer::builder(())
        .backoff(Backoff::new(SECOND / 50, SECOND / 5).unwrap())
        .jitter(Jitter::none());
    (resilience.build().unwrap(), reconnect.build().unwrap())
}

async fn connect<F, Fut, T>(connector: Connector<F>, log: &Log) -> Client
where
    F: Fn() -> Fut + Clone + Send + 'static,
    Fut: Future<Output = Result<T, Error>> + Send + 'static,
    T: tower_mcp::client::ClientTransport,
{
    let (resilience, reconnect) = settings(log);
    let builder: ClientBuilder<F> = Client::builder(connector.start_timeout(120 * SECOND));
    let client = builder.resilience(resilience).reconnect(reconnect);
    within("a connection", client.connect()).await.unwrap()
}

async fn stdio(ledger: &Ledger, log: &Log, arguments: &[&str]) -> Client {
    let path = ledger.0.to_str().unwrap().to_owned();
    let arguments: Vec<String> = arguments
        .iter()
        .map(|&argument| argument.to_owned())
        .collect();
    let connector = Connector::new(move || {
        let (path, arguments) = (path.clone(), arguments.clone());
        async move {
            let mut all = vec!["--ledger", &*path];
            all.extend(arguments.iter().map(String::as_str));
            StdioClientTransport::spawn(program("hostile").to_str().unwrap(), &all).await
        }
    });
    connect(connector, log).await
}

async fn http(server: &Server, log: &Log) -> Client {
    let url = server.url.clone();
    let connector = Connector::new(move || {
        let url = url.clone();
        async move {
            let config = HttpClientConfig {
                request_timeout: 60 * SECOND,
                ..HttpClientConfig::default()
            };
            Ok(HttpClientTransport::with_config(url, config))
        }
    });
    connect(connector, log).await
}

fn arguments(key: &str, fault: &Value) -> Value {
    json!({"key": key, "fault": fault, "times": 1})
}

/// The expected end of a call.
#[derive(Clone, Copy, Debug, PartialEq)]
enum End {
    /// A success after this many attempts.
    Good(u64),
    /// Flagged, as a failure of this class and delivery.
    Flagged(&'static str, &'static str),
}
use End::{Flagged, Good};

const LOST: End = Flagged("connection", "unknown");
const LATE: End = Flagged("timeout", "unknown");
const UNREADABLE: End = Flagged("invalid_output", "executed");

fn assert_end(end: End, result: &CallToolResult, line: &Value, case: &str) {
    match end {
        Good(attempts) => {
            assert!(!result.is_error, "{case}: {line:#}");
            assert_eq!(line["attempts"], attempts, "{case}: {line:#}");
        }
        Flagged(class, delivery) => {
            assert!(result.is_error, "{case}: {line:#}");
            assert_eq!(line["class"], class, "{case}: {line:#}");
            assert_eq!(line["delivery"], delivery, "{case}: {line:#}");
        }
    }
}

/// A fault, what becomes of the tool that may run twice and of the one that may not, and how often that ran.
type Case = (Value, End, End, usize);

fn kind(kind: &str) -> Value {
    json!({"kind": kind})
}

fn status(status: u16) -> Value {
    json!({"kind": "status", "status": status, "retry_after": "1"})
}

/// Makes both calls, and shows that the next one works.
async fn make(client: Client, ledger: Ledger, log: Log, (fault, look, book, ran): Case) {
    for (tool, end) in [("look", look), ("book", book)] {
        let case = format!("{tool} {fault}");
        let before = ledger.count("executed");
        let result = client.call_tool(tool, arguments(tool, &fault)).await;
        assert_end(end, &result.unwrap(), &log.last(), &case);
        if tool == "book" {
            assert_eq!(ledger.count("executed") - before, ran, "{case}");
        }
        let next = client
            .call_tool(tool, arguments("next", &kind("none")))
            .await;
        assert_end(
            Good(1),
            &next.unwrap(),
            &log.last(),
            &format!("after {case}"),
        );
    }
    assert_eq!(log.len(), 4, "one line for each call");
    client.close().await;
}

#[tokio::test]
async fn over_stdio_the_next_call_works_after_any_fault_and_an_effect_happens_once() {
    let cases: Vec<Case> = vec![
        (kind("none"), Good(1), Good(1), 1),
        (
            json!({"kind": "refuse", "retry_after": 0.2}),
            Good(2),
            Good(2),
            1,
        ),
        (kind("die_before"), Good(2), LOST, 0),
        (kind("die_after"), Good(2), LOST, 1),
        (json!({"kind": "die_at_byte", "byte": 17}), Good(2), LOST, 1),
        (kind("hang_before"), Good(2), LATE, 0),
        (kind("hang"), Good(2), LATE, 1),
        (kind("no_id"), Good(2), LATE, 1),
        (kind("foreign_id"), Good(2), LATE, 1),
        (kind("twice"), Good(1), Good(1), 1),
        (json!({"kind": "late", "seconds": 0.3}), Good(1), Good(1), 1),
        (kind("noise"), Good(1), Good(1), 1),
        (kind("wrong_result"), UNREADABLE, UNREADABLE, 1),
    ];
    let mut all = JoinSet::new();
    for case in cases {
        all.spawn(async move {
            let (ledger, log) = (Ledger::new(), Log::default());
            let client = stdio(&ledger, &log, &[]).await;
            make(client, ledger, log, case).await;
        });
    }
    all.join_all().await;
}

#[tokio::test]
async fn over_http_the_next_call_works_after_any_fault_and_an_effect_happens_once() {
    let lost_session = Flagged("session_lost", "unknown");
    let cases: Vec<Case> = vec![
        (kind("none"), Good(1), Good(1), 1),
        (
            json!({"kind": "refuse", "retry_after": 0.2}),
            Good(2),
            Good(2),
            1,
        ),
        (kind("hang"), Good(2), LATE, 1),
        (kind("not_found"), Good(2), lost_session, 0),
        (
            json!({"kind": "not_found_after", "silent": true}),
            Good(2),
            lost_session,
            1,
        ),
        (kind("drop_before"), Good(2), LOST, 0),
        (kind("drop_after"), Good(2), LOST, 1),
        (status(429), Good(2), Flagged("rate_limited", "unknown"), 0),
        (status(503), Good(2), Flagged("unavailable", "unknown"), 0),
        (
            status(401),
            Flagged("unauthorized", "unknown"),
            Flagged("unauthorized", "unknown"),
            0,
        ),
        (kind("wrong_result"), UNREADABLE, UNREADABLE, 1),
    ];
    let mut all = JoinSet::new();
    for answer in ["sse", "json"] {
        for case in cases.clone() {
            all.spawn(async move {
                let (ledger, log) = (Ledger::new(), Log::default());
                let options = ["--http", "127.0.0.1:0", "--answer", answer];
                let server = Server::start(&ledger, &options).await;
                let client = http(&server, &log).await;
                make(client, ledger, log, case).await;
            });
        }
    }
    all.join_all().await;
}

#[tokio::test]
async fn a_server_that_was_killed_between_two_calls_costs_none() {
    let (ledger, log) = (Ledger::new(), Log::default());
    let client = stdio(&ledger, &log, &[]).await;
    let pid = client.call_tool("pid", json!({})).await.unwrap();
    let pid = pid.structured_content.unwrap()["pid"].to_string();
    let killed = Command::new("kill").args(["-9", &pid]).status().unwrap();
    assert!(killed.success());
    // Until it shows that the connection is closed.
    let connection = client.connection();
    within("the end of the connection", async {
        while connection
            .as_ref()
            .is_some_and(|connection| connection.client().is_connected())
        {
            tokio::time::sleep(SECOND / 100).await;
        }
    })
    .await;
    drop(connection);

    let result = client
        .call_tool("book", arguments("k", &kind("none")))
        .await;
    assert_end(Good(1), &result.unwrap(), &log.last(), "after a kill");
    assert_eq!(ledger.count("executed"), 1);
    client.close().await;
}

#[tokio::test]
async fn many_calls_that_lose_their_session_together_make_one_new_one() {
    let (ledger, log) = (Ledger::new(), Log::default());
    let server = Server::start(&ledger, &["--http", "127.0.0.1:0"]).await;
    let client = http(&server, &log).await;
    assert_eq!(ledger.count("initialized"), 1);
    let mut calls = JoinSet::new();
    for number in 0..10 {
        let client = client.clone();
        let fault = if number == 0 {
            kind("not_found")
        } else {
            kind("none")
        };
        calls.spawn(async move {
            let key = format!("key {number}");
            client.call_tool("look", arguments(&key, &fault)).await
        });
    }
    for result in calls.join_all().await {
        assert!(!result.unwrap().is_error);
    }
    // One that was lost late may cost one more.
    let sessions = ledger.count("initialized");
    assert!((2..=3).contains(&sessions), "{sessions} sessions");
    client.close().await;
}

#[tokio::test]
async fn a_server_that_never_answers_fails_the_first_dial_within_its_limit() {
    let ledger = Ledger::new();
    let path = ledger.0.to_str().unwrap().to_owned();
    let connector = Connector::new(move || {
        let path = path.clone();
        async move {
            let all = ["--ledger", &*path, "--mute"];
            StdioClientTransport::spawn(program("hostile").to_str().unwrap(), &all).await
        }
    });
    let limit = SECOND / 2;
    let connecting = Client::connect(connector.start_timeout(limit));
    let failure: Failure = within("a failure", connecting).await.unwrap_err();
    assert_eq!(failure.class(), Class::Fatal);
    let chain = failure.chain().to_string();
    assert!(chain.contains("was not ready within 500ms"), "{chain}");
}

#[tokio::test]
async fn a_closed_client_leaves_no_process() {
    let (ledger, log) = (Ledger::new(), Log::default());
    let client = stdio(&ledger, &log, &[]).await;
    let pid = client.call_tool("pid", json!({})).await.unwrap();
    let pid = pid.structured_content.unwrap()["pid"].to_string();
    within("the end of the client", client.close()).await;
    let alive = Command::new("kill")
        .args(["-0", &pid])
        .stderr(Stdio::null())
        .status();
    assert!(!alive.unwrap().success(), "{pid} still runs");
}
