//! Many calls on one connection, and what one failure does to the others.

use crate::support::{Ledger, Log, MS, SECOND, call, reconnect, resilience, retry, within};
use mcp_resilience::rmcp::client::{Client, Connector};
use rmcp::model::{CallToolRequestParams, CallToolResponse};
use serde_json::{Value, json};
use std::{process::Command, time::Duration};
use tokio::{task::JoinSet, time::sleep};

async fn connect(connector: impl Connector, log: &Log, attempt: Duration) -> Client {
    // Longer than any attempt here, and than a test waits.
    let retry = retry().deadline(40 * SECOND + 2 * attempt);
    let resilience = resilience(log, retry).attempt_timeout(attempt);
    let client = Client::builder(connector)
        .resilience(resilience.build().unwrap())
        .reconnect(reconnect().build().unwrap());
    client.connect().await.unwrap()
}

fn look(key: &str, fault: &Value) -> CallToolRequestParams {
    let arguments = json!({"key": key, "fault": fault});
    CallToolRequestParams::new("look").with_arguments(arguments.as_object().unwrap().clone())
}

fn is_good(answer: &CallToolResponse) -> bool {
    matches!(answer, CallToolResponse::Complete(result) if result.is_error != Some(true))
}

impl Ledger {
    /// Ends its `nth` server, from 0 on.
    fn kill(&self, nth: usize) {
        let lines = self.lines();
        let starts = lines.iter().filter(|line| line["event"] == "started");
        let id = starts.map(|line| line["pid"].to_string()).nth(nth).unwrap();
        assert!(
            Command::new("kill")
                .args(["-9", &id])
                .status()
                .unwrap()
                .success()
        );
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_dial_serves_a_thousand_calls_that_lost_their_connection() {
    let (ledger, log) = (Ledger::new(), Log::default());
    let connector = ledger.stdio(&["--slow-start", "0.5", "--start-fault-from", "2"]);
    let client = connect(connector, &log, 300 * SECOND).await;
    let mut calls = JoinSet::new();
    let mut dropped = Vec::new();
    for n in 0..1000 {
        let (client, call) = (
            client.clone(),
            look(&n.to_string(), &json!({"kind": "hang"})),
        );
        if n % 10 == 0 {
            dropped.push(tokio::spawn(async move { client.call_tool(call).await }));
        } else {
            calls.spawn(async move { client.call_tool(call).await.unwrap() });
        }
    }
    ledger.wait_for("executed", 1000).await;
    ledger.kill(0);
    // While all wait for the dial, a hundred of them hang up.
    ledger.wait_for("started", 2).await;
    for call in &dropped {
        call.abort();
    }
    for call in dropped {
        assert!(call.await.unwrap_err().is_cancelled());
    }
    let answers = within("all calls", calls.join_all()).await;
    assert_eq!(answers.len(), 900);
    let lines = log.lines();
    let bad = lines.iter().find(|line| line["outcome"] == "failed");
    assert!(answers.iter().all(is_good), "each was repeated: {bad:?}");
    assert_eq!(ledger.count("started"), 2, "one dial");
    assert_eq!(client.handle().generation(), 2);
    assert_eq!(log.lines().len(), 1000, "a line for each, hung up or not");
}

#[tokio::test]
async fn a_call_that_times_out_leaves_its_siblings_and_their_connection_alone() {
    let ledger = Ledger::new();
    siblings(&ledger, ledger.stdio(&[])).await;
    let ledger = Ledger::new();
    let server = ledger.http(&[]).await;
    siblings(&ledger, server.connector()).await;
}

async fn siblings(ledger: &Ledger, connector: impl Connector) {
    let log = Log::default();
    let client = connect(connector, &log, 6 * SECOND).await;
    let start = |key: &str, fault: Value| {
        let (client, call) = (client.clone(), look(key, &fault));
        tokio::spawn(async move { client.call_tool(call).await.unwrap() })
    };
    let hangs = start("hangs", json!({"kind": "hang"}));
    ledger.wait_for("executed", 1).await;
    sleep(3 * SECOND).await;
    // Answered after the other one's end. The server answers the ping: it is kept.
    let late = start("late", json!({"kind": "late", "seconds": 4.5}));
    let answer = within("the call that hangs", hangs).await.unwrap();
    assert!(is_good(&answer), "repeated on the same connection");
    assert_eq!(client.handle().generation(), 1);
    let answer = within("its sibling", late).await.unwrap();
    assert!(is_good(&answer));
    assert_eq!(client.handle().generation(), 1);
    let lines = log.lines();
    let late = lines
        .iter()
        .find(|line| line["arguments"]["key"] == "late")
        .unwrap();
    assert_eq!(late["attempts"], 1, "{late}");
}

#[tokio::test]
async fn calls_that_hang_over_http_keep_no_other_from_its_turn() {
    let (ledger, log) = (Ledger::new(), Log::default());
    let server = ledger.http(&["--answer", "json"]).await;
    // Far longer than the test may take: none of them is given up.
    let client = connect(server.connector(), &log, 500 * SECOND).await;
    let hanging: Vec<_> = (0..40)
        .map(|n| {
            let (client, call) = (
                client.clone(),
                look(&n.to_string(), &json!({"kind": "hang"})),
            );
            tokio::spawn(async move { client.call_tool(call).await })
        })
        .collect();
    ledger.wait_for("executed", 40).await;
    let good = client.call_tool(call("book", &json!(null), 1));
    let answer = within("the turn of another call", good).await;
    assert!(is_good(&answer.unwrap()));
    for call in hanging {
        call.abort();
    }
}

#[tokio::test]
async fn a_late_failure_of_an_old_connection_changes_nothing() {
    let (ledger, log) = (Ledger::new(), Log::default());
    let client = connect(ledger.stdio(&[]), &log, 30 * SECOND).await;
    let hangs = look("old", &json!({"kind": "hang"}));
    let running = tokio::spawn({
        let client = client.clone();
        async move { client.call_tool(hangs).await.unwrap() }
    });
    ledger.wait_for("executed", 1).await;
    within("the second", client.handle().reconnect())
        .await
        .unwrap();
    assert_eq!(client.handle().generation(), 2);
    ledger.kill(0);
    assert!(is_good(&within("the first", running).await.unwrap()));
    assert_eq!(client.handle().generation(), 2);
    assert_eq!(ledger.count("started"), 2);
}

#[tokio::test]
async fn a_call_after_the_servers_death_costs_nothing_but_a_dial() {
    let (ledger, log) = (Ledger::new(), Log::default());
    let client = connect(ledger.stdio(&[]), &log, 60 * SECOND).await;
    let good = || call("book", &json!(null), 1);
    client.call_tool(good()).await.unwrap();
    let connection = client.connection().unwrap();
    ledger.kill(0);
    // The death is known as soon as the pipe is closed.
    within("the end of the connection", async {
        while !connection.peer().is_transport_closed() {
            sleep(MS).await;
        }
    })
    .await;
    drop(connection);
    assert!(is_good(&client.call_tool(good()).await.unwrap()));
    assert_eq!(
        log.lines()[1]["attempts"],
        1,
        "it was never sent to the dead one"
    );
    assert_eq!(ledger.count("executed"), 2);
}
