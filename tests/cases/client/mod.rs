//! The cases of a client, against servers in other processes and over real sockets.

mod answers;
mod catalog;
mod http;
mod launcher;
mod sessions;

use crate::peer::{
    Ledger, Log, MS, SECOND, call, is_alive, is_running, reconnect, resilience, retry, within,
};
use mcp_resilience::{
    Class, Failure,
    rmcp::client::{Client, Connector},
};
use rmcp::model::CallToolResponse;
use serde_json::{Value, json};
use std::process::Command;
use tokio::time::sleep;

async fn connect(connector: impl Connector, log: &Log) -> Client {
    connect_within(connector, log, 300).await
}

/// With this attempt timeout in seconds.
async fn connect_within(connector: impl Connector, log: &Log, seconds: u32) -> Client {
    let resilience = resilience(log, retry()).attempt_timeout(seconds * SECOND);
    let client = Client::builder(connector)
        .resilience(resilience.build().unwrap())
        .reconnect(reconnect().build().unwrap());
    client.connect().await.unwrap()
}

/// Whether the answer is flagged, and its structured content.
async fn make(client: &Client, tool: &'static str, fault: &Value) -> (bool, Value) {
    let made = client.call_tool(call(tool, fault, 1));
    let answer = within("an answer", made).await.unwrap();
    let CallToolResponse::Complete(result) = answer else {
        panic!("{answer:?}");
    };
    let is_error = result.is_error == Some(true);
    (is_error, result.structured_content.unwrap_or_default())
}

fn none() -> Value {
    json!({"kind": "none"})
}

impl Ledger {
    fn last_pid(&self) -> u32 {
        let lines = self.lines();
        let started = lines.iter().rfind(|line| line["event"] == "started");
        let pid = started.unwrap()["pid"].as_u64().unwrap();
        u32::try_from(pid).unwrap()
    }

    async fn kill_last(&self) {
        let id = self.last_pid();
        let killed = Command::new("kill").args(["-9", &id.to_string()]).status();
        assert!(killed.unwrap().success());
        within("its end", async {
            while is_running(id) {
                sleep(5 * MS).await;
            }
        })
        .await;
    }
}

#[tokio::test]
async fn case_020_a_server_that_refuses_the_credentials_after_a_restart_is_not_dialled_again() {
    let (ledger, log) = (Ledger::new(), Log::default());
    let server = ledger
        .http(&["--start-status", "401", "--start-fault-from", "2"])
        .await;
    let client = connect(server.connector(), &log).await;
    server.kill();
    ledger.wait_for("started", 2).await;
    sleep(200 * MS).await;
    let (is_error, _) = make(&client, "look", &none()).await;
    assert!(is_error);
    assert_eq!(log.line()["class"], "unauthorized", "{}", log.line());
    let said = log.line()["error"].to_string();
    assert!(said.contains("401"), "{said}");
    assert!(make(&client, "look", &none()).await.0, "for good");
}

#[tokio::test]
async fn case_051_no_call_fails_if_the_server_died_between_two_calls() {
    let (ledger, log) = (Ledger::new(), Log::default());
    let client = connect(ledger.stdio(&[]), &log).await;
    assert!(!make(&client, "book", &none()).await.0);
    ledger.kill_last().await;
    assert!(!make(&client, "book", &none()).await.0);
    assert!(!make(&client, "book", &none()).await.0);
    assert_eq!(client.handle().generation(), 2, "and not one for each call");
    assert_eq!(ledger.count("executed"), 3);
    assert_eq!(ledger.count("started"), 2);
}

#[tokio::test]
async fn case_056_after_a_restart_calls_go_on_in_the_new_session_and_after_its_handshake() {
    let (ledger, log) = (Ledger::new(), Log::default());
    let arguments = ["--slow-start", "0.3", "--start-fault-from", "2"];
    let server = ledger.http(&arguments).await;
    let client = connect(server.connector(), &log).await;
    server.kill();
    ledger.wait_for("started", 2).await;
    sleep(100 * MS).await;
    assert!(!make(&client, "look", &none()).await.0, "{:?}", log.lines());
    let events = ledger.lines();
    let at = |event: &str| events.iter().rposition(|line| line["event"] == event);
    assert_eq!(ledger.count("initialized"), 2);
    assert!(at("initialized") < at("executed"), "{events:#?}");
}

#[tokio::test]
async fn case_059_a_call_ends_with_the_server_that_runs_it() {
    let (ledger, log) = (Ledger::new(), Log::default());
    let client = connect(ledger.stdio(&[]), &log).await;
    dies_in_a_call(&ledger, &log, &client).await;

    let (ledger, log) = (Ledger::new(), Log::default());
    let server = ledger.http(&[]).await;
    let client = connect(server.connector(), &log).await;
    dies_in_a_call(&ledger, &log, &client).await;
}

async fn dies_in_a_call(ledger: &Ledger, log: &Log, client: &Client) {
    let running = tokio::spawn({
        let client = client.clone();
        async move { make(&client, "book", &json!({"kind": "hang"})).await }
    });
    ledger.wait_for("executed", 1).await;
    let id = ledger.last_pid().to_string();
    let killed = Command::new("kill").args(["-9", &id]).status().unwrap();
    assert!(killed.success());
    assert!(running.await.unwrap().0, "flagged");
    let line = log.line();
    assert_eq!(
        line["class"], "connection",
        "and not by the attempt's limit"
    );
    assert_eq!(line["retry_stopped"], "may_have_run");
    assert!(!make(client, "book", &none()).await.0, "renewed");
    assert_eq!(client.handle().generation(), 2);
}

#[tokio::test]
async fn case_065_a_server_that_refuses_the_credentials_at_the_start_is_fatal() {
    let ledger = Ledger::new();
    let server = ledger.http(&["--start-status", "401"]).await;
    let resilience = resilience(&Log::default(), retry()).build().unwrap();
    let client = Client::builder(server.connector()).resilience(resilience);
    let failure = within("a refusal", client.connect()).await.unwrap_err();
    assert_eq!(failure.class(), Class::Fatal);
    let chain = failure.chain().to_string();
    assert!(chain.contains("401"), "{chain}");
    // If the first call dials, it is fatal too.
    let log = Log::default();
    let resilience = crate::peer::resilience(&log, retry()).build().unwrap();
    let client = Client::builder(server.connector()).resilience(resilience);
    let late = client.build().call_tool(call("look", &none(), 1)).await;
    assert_eq!(
        late.as_ref().map_err(Failure::class).unwrap_err(),
        Class::Fatal
    );

    // In a call it is an ordinary failure.
    let (ledger, log) = (Ledger::new(), Log::default());
    let server = ledger.http(&[]).await;
    let client = connect(server.connector(), &log).await;
    let fault = json!({"kind": "status", "status": 401});
    assert!(make(&client, "look", &fault).await.0);
    assert!(!make(&client, "book", &none()).await.0);
}

#[tokio::test]
async fn case_088_a_caller_that_hangs_up_cancels_the_call_at_the_server() {
    let (ledger, log) = (Ledger::new(), Log::default());
    let client = connect(ledger.stdio(&[]), &log).await;
    hang_up(&ledger, &client).await;

    let (ledger, log) = (Ledger::new(), Log::default());
    let server = ledger.http(&[]).await;
    let client = connect(server.connector(), &log).await;
    hang_up(&ledger, &client).await;
}

async fn hang_up(ledger: &Ledger, client: &Client) {
    let running = tokio::spawn({
        let client = client.clone();
        async move { make(&client, "book", &json!({"kind": "hang"})).await }
    });
    ledger.wait_for("executed", 1).await;
    running.abort();
    ledger.wait_for("cancelled", 1).await;
    let lines = ledger.lines();
    let id = |event: &str| lines.iter().find(|line| line["event"] == event).unwrap()["id"].clone();
    assert_eq!(id("cancelled"), id("arrived"), "that call, and no other");
}

#[tokio::test]
async fn case_089_a_call_that_is_dropped_leaves_the_server_to_the_others() {
    let (ledger, log) = (Ledger::new(), Log::default());
    let client = connect(ledger.stdio(&[]), &log).await;
    hang_up(&ledger, &client).await;
    assert!(is_alive(ledger.last_pid()), "the same process");
    assert!(!make(&client, "book", &none()).await.0);
    assert_eq!(ledger.count("started"), 1);
    assert_eq!(client.handle().generation(), 1);
    let outcomes: Vec<_> = log
        .lines()
        .iter()
        .map(|line| line["outcome"].clone())
        .collect();
    assert_eq!(outcomes, ["cancelled", "success"]);
}

#[tokio::test]
async fn case_091_calls_that_time_out_leave_the_connection_as_it_was() {
    let (ledger, log) = (Ledger::new(), Log::default());
    let client = connect(ledger.stdio(&[]), &log).await;
    for number in 1..=20 {
        tokio::select! {
            answer = client.call_tool(call("look", &json!({"kind": "hang"}), 99)) => {
                panic!("{answer:?}")
            }
            () = ledger.wait_for("executed", number) => {}
        }
    }
    ledger.wait_for("cancelled", 20).await;
    assert!(!make(&client, "book", &none()).await.0);
    assert_eq!(ledger.count("started"), 1);
    assert_eq!(log.lines().len(), 21);
}
