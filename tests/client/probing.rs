//! A server that gives no answer is asked by `ping` before it is replaced.

use crate::support::{Ledger, Log, MS, SECOND, call, reconnect, resilience, retry, within};
use mcp_resilience::{
    reconnect::ConnectionState,
    rmcp::client::{Client, Connector},
};
use serde_json::json;
use std::process::Command;
use tokio::time::timeout;

async fn connect(connector: impl Connector) -> Client {
    let resilience = resilience(&Log::default(), retry()).build().unwrap();
    let reconnect = reconnect().probe_timeout(SECOND).build().unwrap();
    let client = Client::builder(connector)
        .resilience(resilience)
        .reconnect(reconnect);
    client.connect().await.unwrap()
}

/// Stops the server's process, so that it is there and says nothing.
fn stop(client: &Client) {
    let id = client.connection().unwrap().process_id().unwrap();
    let status = Command::new("kill")
        .args(["-STOP", &id.to_string()])
        .status();
    assert!(status.unwrap().success());
}

async fn is_replaced(client: &Client) {
    let mut changes = client.handle().changes();
    let lost =
        changes.wait_for(|state| !matches!(state, ConnectionState::Connected { generation: 1 }));
    within("the loss", lost).await.unwrap();
    client
        .call_tool(call("look", &json!(null), 1))
        .await
        .unwrap();
    assert_eq!(client.handle().generation(), 2);
}

#[tokio::test]
async fn a_tool_that_is_slower_than_its_limit_does_not_cost_the_server_its_process() {
    let ledger = Ledger::new();
    let client = connect(ledger.stdio(&[])).await;
    for _ in 0..2 {
        let late = json!({"kind": "late", "seconds": 4});
        client.call_tool(call("book", &late, 9)).await.unwrap();
    }
    client
        .call_tool(call("look", &json!(null), 1))
        .await
        .unwrap();
    assert_eq!(ledger.count("started"), 1);
    assert_eq!(client.handle().generation(), 1);
    client.close().await;
}

#[tokio::test]
async fn a_server_that_answers_neither_a_call_nor_the_ping_is_replaced() {
    let ledger = Ledger::new();
    let client = connect(ledger.stdio(&[])).await;
    stop(&client);
    client
        .call_tool(call("book", &json!(null), 1))
        .await
        .unwrap();
    is_replaced(&client).await;
    client.close().await;
}

#[tokio::test]
async fn a_dead_server_whose_callers_hang_up_early_is_replaced() {
    let ledger = Ledger::new();
    let client = connect(ledger.stdio(&[])).await;
    stop(&client);
    for _ in 0..3 {
        let hangs = client.call_tool(call("book", &json!(null), 1));
        timeout(200 * MS, hangs).await.unwrap_err();
    }
    is_replaced(&client).await;
    client.close().await;
}
