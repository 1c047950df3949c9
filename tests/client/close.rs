//! How calls and connections end.

use crate::support::{
    Ledger, Log, MS, SECOND, call, is_alive, program, reconnect, resilience, retry, within,
};
use mcp_resilience::{
    Class,
    rmcp::client::{ChildProcess, Client, Connector},
};
use rmcp::model::CallToolResponse;
use serde_json::{Value, json};
use std::{fs, process::Command};
use tokio::time::{Instant, sleep};

async fn connect(connector: impl Connector) -> Client {
    let client = Client::builder(connector)
        .resilience(resilience(&Log::default(), retry()).build().unwrap())
        .reconnect(reconnect().build().unwrap());
    client.connect().await.unwrap()
}

impl Ledger {
    fn pid(&self) -> u32 {
        let pid = self.lines()[0]["pid"].as_u64().unwrap();
        u32::try_from(pid).unwrap()
    }

    /// The ids of the requests of an event.
    fn ids(&self, event: &str) -> Vec<Value> {
        let lines = self.lines().into_iter();
        let lines = lines.filter(|line| line["event"] == event);
        lines.map(|line| line["id"].clone()).collect()
    }
}

async fn gone(id: u32) {
    within("the end of the process", async {
        while is_alive(id) {
            sleep(10 * MS).await;
        }
    })
    .await;
}

#[tokio::test]
async fn closing_waits_until_the_child_is_gone_and_was_waited_for() {
    let ledger = Ledger::new();
    let client = connect(ledger.stdio(&[])).await;
    within("the close", client.close()).await;
    assert!(!is_alive(ledger.pid()), "not as a zombie either");
}

#[tokio::test]
async fn a_child_that_dies_is_waited_for_while_its_connection_is_still_held() {
    let ledger = Ledger::new();
    let file = ledger.path().with_extension("pid");
    let script = format!(
        "sleep 300 >/dev/null & echo $! > '{}'; exec '{}' --ledger '{}'",
        file.display(),
        program("hostile").display(),
        ledger.path().display()
    );
    let client = connect(ChildProcess::new("sh").args(["-c", &script])).await;
    let left: u32 = fs::read_to_string(&file).unwrap().trim().parse().unwrap();
    fs::remove_file(file).unwrap();
    let connection = client.connection().unwrap();
    let id = ledger.pid().to_string();
    let killed = Command::new("kill").args(["-9", &id]).status();
    assert!(killed.unwrap().success());
    gone(ledger.pid()).await;
    gone(left).await;
    assert!(connection.peer().is_transport_closed());
}

#[tokio::test]
async fn a_child_that_does_not_want_to_end_is_killed_with_all_that_it_started() {
    let ledger = Ledger::new();
    let file = ledger.path().with_extension("pid");
    let script = format!(
        "sleep 300 & echo $! > '{}'; exec '{}' --ledger '{}' --linger 60",
        file.display(),
        program("hostile").display(),
        ledger.path().display()
    );
    let client = connect(ChildProcess::new("sh").args(["-c", &script])).await;
    let grandchild: u32 = fs::read_to_string(&file).unwrap().trim().parse().unwrap();
    fs::remove_file(file).unwrap();
    assert!(is_alive(grandchild));
    let begun = Instant::now();
    within("the close", client.close()).await;
    gone(ledger.pid()).await;
    gone(grandchild).await;
    let took = begun.elapsed();
    assert!(took >= 6 * SECOND, "3 s, a signal, 3 s, another: {took:?}");
}

#[tokio::test]
async fn processes_of_a_child_that_exits_by_itself_are_ended_too() {
    let ledger = Ledger::new();
    let file = ledger.path().with_extension("pid");
    let script = format!(
        "sleep 300 & echo $! > '{}'; exec '{}' --ledger '{}'",
        file.display(),
        program("hostile").display(),
        ledger.path().display()
    );
    let client = connect(ChildProcess::new("sh").args(["-c", &script])).await;
    let left: u32 = fs::read_to_string(&file).unwrap().trim().parse().unwrap();
    fs::remove_file(file).unwrap();
    let connection = client.connection().unwrap();
    assert_eq!(connection.process_id(), Some(ledger.pid()));
    client.handle().shutdown();
    drop(connection);
    client.close().await;
    gone(left).await;
}

/// A server whose shell has ended, and that ends by nothing but a kill.
fn orphan(ledger: &Ledger) -> ChildProcess {
    let script = format!(
        "exec 3<&0; '{}' --ledger '{}' --linger 100 <&3 & exit",
        program("hostile").display(),
        ledger.path().display()
    );
    ChildProcess::new("sh").args(["-c", &script])
}

/// Waits until it is known that the leader has ended.
async fn leader_ended(client: &Client) {
    within("the end of the leader", async {
        while client.connection().unwrap().process_id().is_some() {
            sleep(10 * MS).await;
        }
    })
    .await;
}

#[tokio::test]
async fn a_server_whose_leader_has_ended_serves_on_and_ends_with_its_connection() {
    let ledger = Ledger::new();
    let client = connect(orphan(&ledger)).await;
    leader_ended(&client).await;
    let answer = client.call_tool(call("book", &json!({"kind": "none"}), 0));
    within("an answer", answer).await.unwrap();
    assert!(is_alive(ledger.pid()));
    client.close().await;
    gone(ledger.pid()).await;
}

#[test]
fn a_server_whose_leader_has_ended_ends_with_the_runtime() {
    let ledger = Ledger::new();
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let client = runtime.block_on(async {
        let client = connect(orphan(&ledger)).await;
        leader_ended(&client).await;
        client
    });
    drop(runtime);
    drop(client);
    let runtime = tokio::runtime::Runtime::new().unwrap();
    runtime.block_on(gone(ledger.pid()));
}

#[tokio::test]
async fn closing_waits_for_the_calls_that_run() {
    let ledger = Ledger::new();
    let client = connect(ledger.stdio(&[])).await;
    let late = json!({"kind": "late", "seconds": 1.5});
    let running = tokio::spawn({
        let client = client.clone();
        async move { client.call_tool(call("book", &late, 1)).await }
    });
    ledger.wait_for("executed", 1).await;
    within("the close", client.close()).await;
    assert!(!is_alive(ledger.pid()));
    let answer = within("the call", running).await.unwrap().unwrap();
    let CallToolResponse::Complete(result) = answer else {
        panic!("{answer:?}");
    };
    assert_ne!(result.is_error, Some(true), "{result:?}");
    assert_eq!(ledger.count("executed"), 1);
    assert_eq!(ledger.count("cancelled"), 0);
}

#[tokio::test]
async fn closing_does_not_wait_for_ever_for_other_holders_of_the_connection() {
    let ledger = Ledger::new();
    let client = connect(ledger.stdio(&[])).await;
    let held = client.connection().unwrap();
    within("the close", client.close()).await;
    assert!(is_alive(ledger.pid()), "it is still held");
    drop(held);
    gone(ledger.pid()).await;
}

#[tokio::test]
async fn dropping_the_client_ends_the_child_too() {
    let ledger = Ledger::new();
    drop(connect(ledger.stdio(&[])).await);
    gone(ledger.pid()).await;
}

#[test]
fn the_end_of_the_runtime_ends_a_child_that_would_linger() {
    let ledger = Ledger::new();
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let client = runtime.block_on(connect(ledger.stdio(&["--linger", "60"])));
    drop(runtime);
    let waiting = tokio::runtime::Runtime::new().unwrap();
    waiting.block_on(gone(ledger.pid()));
    drop(client);
}

#[tokio::test]
async fn a_session_over_http_is_deleted_at_the_end() {
    let ledger = Ledger::new();
    let server = ledger.http(&[]).await;
    connect(server.connector()).await.close().await;
    assert_eq!(ledger.count("deleted"), 1);
}

#[tokio::test]
async fn a_dropped_call_is_cancelled_at_the_server() {
    let ledger = Ledger::new();
    abandoned(&ledger, ledger.stdio(&[])).await;
    let ledger = Ledger::new();
    let server = ledger.http(&[]).await;
    abandoned(&ledger, server.connector()).await;
}

async fn abandoned(ledger: &Ledger, connector: impl Connector) {
    let client = connect(connector).await;
    let running = tokio::spawn({
        let client = client.clone();
        async move {
            client
                .call_tool(call("book", &json!({"kind": "hang"}), 1))
                .await
        }
    });
    ledger.wait_for("executed", 1).await;
    running.abort();
    ledger.wait_for("cancelled", 1).await;
    assert_eq!(ledger.ids("cancelled"), ledger.ids("arrived"));
    assert!(
        client.handle().is_connected(),
        "the connection is as good as before"
    );
}

#[tokio::test]
async fn an_attempt_that_is_given_up_is_cancelled_and_the_next_has_an_id_of_its_own() {
    // One connection for both: the server only refuses, and then hangs.
    let ledger = Ledger::new();
    let client = connect(ledger.stdio(&[])).await;
    let refused = json!({"kind": "refuse", "retry_after": 0});
    client.call_tool(call("book", &refused, 2)).await.unwrap();
    let mut ids = ledger.ids("arrived");
    assert_eq!(ids.len(), 3);
    ids.dedup();
    assert_eq!(ids.len(), 3, "{ids:?}");

    let ledger = Ledger::new();
    let client = connect(ledger.stdio(&[])).await;
    client
        .call_tool(call("look", &json!({"kind": "hang"}), 1))
        .await
        .unwrap();
    assert_eq!(ledger.ids("cancelled"), ledger.ids("arrived")[..1]);
}

#[tokio::test]
async fn a_call_after_the_end_ends_at_once() {
    let ledger = Ledger::new();
    let client = connect(ledger.stdio(&[])).await;
    client.clone().close().await;
    let late = client.call_tool(call("look", &json!(null), 1));
    let failure = within("a call that is too late", late).await.unwrap_err();
    assert_eq!(failure.class(), Class::Cancelled);
    assert_eq!(ledger.count("arrived"), 0);
}
