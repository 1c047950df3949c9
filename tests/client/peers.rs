//! Servers of other SDKs: called, killed in the middle of a call, restarted, and called again.

mod sweep;

use crate::support::{
    Log, MS, Peer, Port, Proxy, SECOND, kill_last, reconnect, resilience, retry, within,
};
use mcp_resilience::rmcp::client::{Client, Connector, Http};
use rmcp::{
    ClientHandler, RoleClient,
    model::{CallToolRequestParams, CallToolResponse, ProgressNotificationParam},
    service::NotificationContext,
};
use serde_json::{Value, json};
use std::{
    env, fs,
    path::{Path, PathBuf},
    process::Command,
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering::Relaxed},
    },
};
use tokio::{sync::Notify, time::sleep};

/// A temporary file, removed when it is dropped.
struct File(PathBuf);

impl File {
    fn new(kind: &str) -> Self {
        static MADE: AtomicU32 = AtomicU32::new(0);
        let number = MADE.fetch_add(1, Relaxed);
        let name = format!("peer-{}-{number}.{kind}", std::process::id());
        Self(Path::new(env!("CARGO_TARGET_TMPDIR")).join(name))
    }

    fn lines(&self) -> usize {
        fs::read_to_string(&self.0)
            .unwrap_or_default()
            .lines()
            .count()
    }

    async fn wait_for_a_line(&self) {
        within("the effect", async {
            while self.lines() == 0 {
                sleep(10 * MS).await;
            }
        })
        .await;
    }
}

impl Drop for File {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.0);
    }
}

/// Waits for the progress of a call.
#[derive(Clone, Default)]
struct Progress(Arc<Notify>);

impl Progress {
    async fn made(&self) {
        within("progress", self.0.notified()).await;
    }
}

impl ClientHandler for Progress {
    async fn on_progress(&self, _: ProgressNotificationParam, _: NotificationContext<RoleClient>) {
        self.0.notify_one();
    }
}

/// A call that takes 4 s and reports progress every half second.
fn long() -> (&'static str, Value) {
    (
        "trigger-long-running-operation",
        json!({"duration": 4, "steps": 8}),
    )
}

async fn connect(connector: impl Connector, log: &Log) -> Client {
    let resilience = resilience(log, retry()).attempt_timeout(200 * SECOND);
    let client = Client::builder(connector)
        .resilience(resilience.build().unwrap())
        .reconnect(reconnect().build().unwrap());
    within("a connection", client.connect()).await.unwrap()
}

async fn call(client: &Client, tool: &'static str, arguments: Value) -> Value {
    let call = CallToolRequestParams::new(tool);
    let call = call.with_arguments(arguments.as_object().unwrap().clone());
    match within("an answer", client.call_tool(call)).await {
        Ok(CallToolResponse::Complete(result)) => json!(result),
        answer => json!({"answer": format!("{answer:?}")}),
    }
}

fn text(result: &Value) -> &str {
    result["content"][0]["text"].as_str().unwrap_or_default()
}

/// A call that only reads.
async fn read(client: &Client, peer: Peer) {
    let (tool, arguments, expected) = match peer {
        Peer::Everything => ("echo", json!({"message": "hello"}), "Echo: hello"),
        _ => ("get_author", json!({"title": "Dune"}), "Frank Herbert"),
    };
    let result = call(client, tool, arguments).await;
    assert_eq!(text(&result), expected, "{peer:?}: {result}");
}

/// Starts the call that is to be killed, gives the kill, and looks at what becomes of it.
async fn killed_in_mid_call(
    client: &Client,
    peer: Peer,
    log: &Log,
    progress: &Progress,
    kill: impl AsyncFnOnce(),
) {
    let ledger = File::new("ledger");
    let (tool, arguments) = match peer {
        Peer::Everything => long(),
        _ => (
            "reserve",
            json!({"title": "Dune", "seconds": 300, "ledger": ledger.0.to_str().unwrap()}),
        ),
    };
    // It announces changes of its tools; until the list is read again their hints do not count.
    client.refresh().await.unwrap();
    let running = tokio::spawn({
        let client = client.clone();
        async move { call(&client, tool, arguments).await }
    });
    match peer {
        Peer::Everything => progress.made().await,
        _ => ledger.wait_for_a_line().await,
    }
    kill().await;
    let result = running.await.unwrap();
    let lines = log.lines();
    let line = lines.last().unwrap();
    if peer == Peer::Everything {
        assert!(
            text(&result).starts_with("Long running operation completed"),
            "{result}"
        );
        assert_eq!(line["attempts"], 2, "it only reads: {line}");
    } else {
        assert_eq!(result["isError"], true, "{peer:?}: {result}");
        assert!(text(&result).contains("may have run"), "{peer:?}: {result}");
        assert_eq!(line["class"], "connection", "{peer:?}: {line}");
        assert_eq!(ledger.lines(), 1, "{peer:?}: reserved once");
    }
}

async fn over_stdio(peer: Peer) {
    if !peer.is_there() {
        return;
    }
    let (log, ids) = (Log::default(), File::new("ids"));
    let progress = Progress::default();
    let client = connect(peer.stdio(&ids.0).handler(progress.clone()), &log).await;
    read(&client, peer).await;
    killed_in_mid_call(&client, peer, &log, &progress, async || kill_last(&ids.0)).await;
    read(&client, peer).await;
    assert_eq!(ids.lines(), 2, "{peer:?}: one start more");
    assert_eq!(client.handle().generation(), 2);
    client.close().await;
}

async fn over_http(peer: Peer) {
    if !peer.is_there() {
        return;
    }
    let (log, progress) = (Log::default(), Progress::default());
    let kept = Port::new();
    let port = kept.address.port();
    let (mut process, connector) = peer.http(port).await;
    let client = connect(connector.handler(progress.clone()), &log).await;
    read(&client, peer).await;
    let mut next = None;
    killed_in_mid_call(&client, peer, &log, &progress, async || {
        process.kill();
        next = Some(peer.http(port).await.0);
    })
    .await;
    read(&client, peer).await;

    // The same without a running call: only the session is gone, for each form of the answer.
    drop(next);
    let (_process, ..) = peer.http(port).await;
    let before = client.handle().generation();
    sleep(200 * MS).await;
    read(&client, peer).await;
    assert_eq!(client.handle().generation(), before + 1, "{peer:?}");
    let lines = log.lines();
    let line = lines.last().unwrap();
    assert_eq!(
        line["retries"][0]["class"], "session_lost",
        "{peer:?}: {line}"
    );
    client.close().await;
}

#[test]
fn the_peers_are_set_up_where_the_tests_look_for_them() {
    let setup = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/peers/setup");
    let place = |target: Option<&Path>| {
        let mut command = Command::new(&setup);
        command.arg("--print");
        if let Some(target) = target {
            command.env("CARGO_TARGET_DIR", target);
        }
        let printed = command.output().unwrap();
        assert!(printed.status.success(), "{printed:?}");
        PathBuf::from(String::from_utf8(printed.stdout).unwrap().trim_end())
    };
    // As cargo was told when it built this test, unless by an option.
    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).parent().unwrap();
    assert_eq!(place(Some(target)), target.join("peers"));
    let elsewhere = env::temp_dir().join("elsewhere");
    assert_eq!(place(Some(&elsewhere)), elsewhere.join("peers"));
    assert_ne!(place(None), elsewhere.join("peers"));
}

#[tokio::test]
async fn the_everything_server_comes_back_over_stdio() {
    over_stdio(Peer::Everything).await;
}

#[tokio::test]
async fn the_everything_server_comes_back_over_http() {
    over_http(Peer::Everything).await;
}

#[tokio::test]
async fn a_server_on_the_typescript_sdk_comes_back_over_stdio() {
    over_stdio(Peer::TypeScript).await;
}

#[tokio::test]
async fn a_server_on_the_typescript_sdk_comes_back_over_http() {
    over_http(Peer::TypeScript).await;
}

#[tokio::test]
async fn a_server_on_the_python_sdk_comes_back_over_stdio() {
    over_stdio(Peer::Python).await;
}

#[tokio::test]
async fn a_server_on_the_python_sdk_comes_back_over_http() {
    over_http(Peer::Python).await;
}

#[tokio::test]
async fn a_stream_that_breaks_off_is_taken_up_again_and_the_call_runs_once() {
    if !Peer::Everything.is_there() {
        return;
    }
    let (log, progress) = (Log::default(), Progress::default());
    let kept = Port::new();
    let port = kept.address.port();
    let _process = Peer::Everything.http(port).await;
    let proxy = Proxy::to(port).await;
    let proxied = Http::new(format!("http://127.0.0.1:{}/mcp", proxy.port));
    let client = connect(proxied.handler(progress.clone()), &log).await;
    let running = tokio::spawn({
        let client = client.clone();
        let (tool, arguments) = long();
        async move { call(&client, tool, arguments).await }
    });
    progress.made().await;
    proxy.cut();
    let result = running.await.unwrap();
    assert!(
        text(&result).starts_with("Long running operation completed"),
        "{result}"
    );
    assert_eq!(log.line()["attempts"], 1, "{}", log.line());
    assert_eq!(client.handle().generation(), 1);
    client.close().await;
}

#[tokio::test]
async fn failures_of_the_sdks_have_a_class() {
    for (peer, tool, arguments, class) in [
        (
            Peer::TypeScript,
            "get_author",
            json!({"title": "Emma"}),
            "tool",
        ),
        (Peer::TypeScript, "crash", json!({}), "tool"),
        (Peer::TypeScript, "typed", json!({}), "invalid_output"),
        (Peer::TypeScript, "get_author", json!({}), "invalid_input"),
        (Peer::TypeScript, "nosuch", json!({}), "not_found"),
        (Peer::Python, "get_author", json!({"title": "Emma"}), "tool"),
        (Peer::Python, "crash", json!({}), "crash"),
        (Peer::Python, "typed", json!({}), "crash"),
        (Peer::Python, "get_author", json!({}), "invalid_input"),
        (Peer::Python, "nosuch", json!({}), "not_found"),
        (Peer::Everything, "echo", json!({}), "invalid_input"),
        (Peer::Everything, "nosuch", json!({}), "not_found"),
    ] {
        if !peer.is_there() {
            continue;
        }
        let (log, ids) = (Log::default(), File::new("ids"));
        let client = connect(peer.stdio(&ids.0), &log).await;
        let result = call(&client, tool, arguments).await;
        assert_eq!(log.line()["class"], class, "{peer:?} {tool}: {result}");
    }
}
