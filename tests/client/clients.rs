//! Several clients of one cloned connector.

use crate::support::{
    Ledger, Log, MS, SECOND, Scripted, call, is_alive, reconnect, resilience, retry,
    scripted::{result, status},
    within,
};
use mcp_resilience::{
    Class,
    call::Hints,
    rmcp::client::{Client, Connector, Http},
};
use rmcp::model::{CallToolRequestParams, CallToolResponse};
use serde_json::{Value, json};
use std::{collections::HashMap, time::Duration};

/// Calls of each client in the long test.
const CALLS: usize = 1000;

async fn connect(connector: impl Connector, log: &Log) -> Client {
    connect_with(connector, log, 10 * SECOND).await
}

async fn connect_with(connector: impl Connector, log: &Log, close: Duration) -> Client {
    let resilience = resilience(log, retry()).attempt_timeout(30 * SECOND);
    let client = Client::builder(connector)
        .resilience(resilience.build().unwrap())
        .reconnect(reconnect().build().unwrap())
        .close_timeout(close);
    within("a connection", client.connect()).await.unwrap()
}

fn keyed(tool: &'static str, key: &str, fault: &Value) -> CallToolRequestParams {
    let arguments = json!({"key": key, "fault": fault});
    CallToolRequestParams::new(tool).with_arguments(arguments.as_object().unwrap().clone())
}

#[tokio::test]
async fn hints_of_one_servers_tools_never_reach_the_client_of_another() {
    // The bearer decides what the server lists; `book` always fails after its effect.
    let server = Scripted::start(|seen, _| {
        let id = &seen.message["id"];
        let is_liar = seen.headers["authorization"] == "Bearer liar";
        match seen.method() {
            "tools/list" => {
                let book = json!({
                    "name": "book", "inputSchema": {"type": "object"},
                    "annotations": {"readOnlyHint": is_liar, "destructiveHint": !is_liar},
                });
                let mut tools = vec![book];
                if is_liar {
                    let other = json!({"name": "other", "inputSchema": {"type": "object"}});
                    tools.push(other);
                }
                Some(result(id, &json!({"tools": tools})))
            }
            "tools/call" => Some(status(500)),
            _ => None,
        }
    });
    let server = server.await;
    let base = Http::new(&*server.url);
    let (log, foreign) = (Log::default(), Log::default());
    let honest = connect(base.clone().bearer("honest"), &log).await;
    let liar = connect(base.clone().bearer("liar"), &foreign).await;
    assert_eq!(honest.tools().unwrap().len(), 1);
    assert_eq!(liar.tools().unwrap().len(), 2);

    let book = || CallToolRequestParams::new("book");
    within("a call", honest.call_tool(book())).await.unwrap();
    within("a call", liar.call_tool(book())).await.unwrap();
    let sent = |bearer: &str| {
        let seen = server.seen();
        let calls = seen.iter().filter(|seen| seen.method() == "tools/call");
        let calls = calls.filter(|seen| seen.headers["authorization"] == bearer);
        calls.count()
    };
    assert_eq!(sent("Bearer honest"), 1, "{:?}", log.lines());
    assert_eq!(sent("Bearer liar"), 3, "{:?}", foreign.lines());
}

#[tokio::test]
async fn hints_that_a_user_gives_to_one_client_do_not_reach_another() {
    let ledger = Ledger::new();
    let base = ledger.stdio(&[]);
    let told = Client::builder(base.clone()).hints("book", Hints::new().idempotent(true));
    let told = told.build();
    let other = Client::builder(base).build();
    assert!(told.catalog().hints("book").is_some());
    assert_eq!(other.catalog().hints("book"), None);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_clients_of_one_connector_make_a_thousand_calls_each_and_neither_changes_the_other() {
    let ledger = Ledger::new();
    let base = ledger.stdio(&[]);
    let (log, foreign) = (Log::default(), Log::default());
    let honest = connect(base.clone(), &log).await;
    let lying = base.clone().args(["--annotations", "lying"]);
    let lying = connect(lying, &foreign).await;
    let both = tokio::join!(
        tokio::spawn(calls(honest.clone(), "honest")),
        tokio::spawn(calls(lying.clone(), "lying")),
    );
    within(
        "the calls",
        async move { (both.0.unwrap(), both.1.unwrap()) },
    )
    .await;

    let mut ran = HashMap::<String, usize>::new();
    for line in ledger.lines() {
        if line["event"] == "executed" {
            let key = line["key"].as_str().unwrap().to_owned();
            *ran.entry(key).or_default() += 1;
        }
    }
    assert_eq!(ran.len(), 2 * CALLS, "each ran");
    for (key, ran) in ran {
        // Only the reader of an honest list may be repeated, and the booking of a lying one.
        let may_repeat = key.starts_with("honest look") || key.starts_with("lying book");
        let dies = key.ends_with("dies");
        assert_eq!(ran, if may_repeat && dies { 2 } else { 1 }, "{key}");
    }
    assert_eq!(log.lines().len(), CALLS);
    assert_eq!(foreign.lines().len(), CALLS);
    for client in [honest, lying] {
        within("a close", client.close()).await;
    }
}

/// One after the other; in some of them the server dies after the effect.
async fn calls(client: Client, name: &str) {
    for n in 0..CALLS {
        let (tool, dies) = (["look", "book"][n % 2], n % 50 < 2);
        let fault = if dies { "die_after" } else { "none" };
        let how = if dies { "dies" } else { "lives" };
        let key = format!("{name} {tool} {n} {how}");
        let call = keyed(tool, &key, &json!({"kind": fault}));
        within("a call", client.call_tool(call)).await.unwrap();
    }
}

#[tokio::test]
async fn closing_a_client_waits_for_no_call_of_another() {
    let ledger = Ledger::new();
    let base = ledger.stdio(&[]);
    let closed = connect(base.clone(), &Log::default()).await;
    let other = connect(base, &Log::default()).await;
    let running = tokio::spawn({
        let other = other.clone();
        let hang = keyed("book", "hangs", &json!({"kind": "hang"}));
        async move { other.call_tool(hang).await }
    });
    ledger.wait_for("executed", 1).await;
    within("the close", closed.close()).await;
    assert!(!running.is_finished(), "the other client's call goes on");
    let good = other.call_tool(call("book", &json!(null), 1));
    assert!(is_good(&within("a call", good).await.unwrap()));
    running.abort();
    other.close().await;
}

fn is_good(answer: &CallToolResponse) -> bool {
    matches!(answer, CallToolResponse::Complete(result) if result.is_error != Some(true))
}

#[tokio::test]
async fn closing_ends_calls_that_take_longer_than_the_close_timeout() {
    let (ledger, log) = (Ledger::new(), Log::default());
    let client = connect_with(ledger.stdio(&[]), &log, 200 * MS).await;
    let start = |call: CallToolRequestParams| {
        let client = client.clone();
        tokio::spawn(async move { client.call_tool(call).await })
    };
    let hangs = start(keyed("book", "hangs", &json!({"kind": "hang"})));
    // In the wait before its next attempt.
    let refused = json!({"kind": "refuse", "retry_after": 30});
    let waits = start(keyed("book", "waits", &refused));
    ledger.wait_for("arrived", 2).await;
    within("the close", client.close()).await;
    for running in [hangs, waits] {
        let failure = within("its end", running).await.unwrap().unwrap_err();
        assert_eq!(failure.class(), Class::Cancelled);
        assert!(failure.to_string().contains("close_timeout"), "{failure}");
    }
    let outcomes: Vec<_> = log
        .lines()
        .iter()
        .map(|line| line["outcome"].clone())
        .collect();
    assert_eq!(outcomes, ["cancelled", "cancelled"]);
    let pid = ledger.lines()[0]["pid"].as_u64().unwrap();
    assert!(!is_alive(u32::try_from(pid).unwrap()));
}
