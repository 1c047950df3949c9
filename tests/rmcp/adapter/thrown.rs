//! How a failure leaves a handler whose signature has rmcp's error type.

use crate::support::{Desk, Log, Run, Traced, assert_has, call, connect, preset, text};
use mcp_resilience::{
    Failure,
    rmcp::{AnyError, Resilient},
};
use rmcp::{
    ErrorData,
    model::{CallToolResponse, CallToolResult},
    service::ServiceError,
};
use serde_json::{Value, json};
use std::{
    io,
    sync::{Arc, Mutex},
};
use tokio::sync::Barrier;

/// The client's answer from such a tool, and its line.
async fn answered(desk: Desk, tool: &'static str) -> (Result<CallToolResult, ServiceError>, Value) {
    let log = Log::default();
    let client = connect(Resilient::with_preset(desk, &preset(&log)), ()).await;
    let answer = client.call_tool(call(tool)).await;
    (answer, log.only())
}

#[track_caller]
fn error(answer: Result<CallToolResult, ServiceError>) -> ErrorData {
    match answer {
        Err(ServiceError::McpError(error)) => error,
        other => panic!("no JSON-RPC error: {other:#?}"),
    }
}

#[tokio::test(start_paused = true)]
async fn a_failure_thrown_in_a_task_of_the_handler_is_an_error_without_claims() {
    let desk = Desk::new(|_| async {
        let task = async { Err::<CallToolResponse, _>(ErrorData::from(Failure::tool("no row"))) };
        tokio::spawn(task).await.unwrap()
    });
    let (answer, line) = answered(desk, "look").await;
    let error = error(answer);
    assert_eq!(error, ErrorData::internal_error("no row", None));
    assert_has(&line, &json!({"outcome": "failed", "error": "no row"}));
}

#[tokio::test(start_paused = true)]
async fn a_crash_thrown_in_a_task_of_the_handlers_tells_nothing() {
    let desk = Desk::new(|_| async {
        let task = async {
            let secret = io::Error::other("password hunter2");
            Err::<CallToolResponse, _>(ErrorData::from(AnyError::from(secret)))
        };
        tokio::spawn(task).await.unwrap()
    });
    let (answer, line) = answered(desk, "look").await;
    let answer = answer.unwrap();
    assert_eq!(answer.is_error, Some(true));
    let wire = serde_json::to_string(&answer).unwrap();
    assert!(
        text(&answer).starts_with("Error executing tool look (call "),
        "{wire}"
    );
    assert!(!wire.contains("hunter2"), "{wire}");
    assert_has(
        &line,
        &json!({"outcome": "failed", "class": "crash", "level": "ERROR"}),
    );
    let error = line["error"].as_str().unwrap();
    assert!(error.contains("logged there under the id "), "{error}");
}

#[tokio::test(start_paused = true)]
async fn a_failure_that_two_calls_share_claims_nothing_in_either() {
    // As with two callers of one future that fills a cache.
    let shared: &Mutex<Option<ErrorData>> = Box::leak(Box::default());
    let desk = Desk::new(move |_| async move {
        let mut shared = shared.lock().unwrap();
        let error = shared.get_or_insert_with(|| Failure::tool("the cache is cold").into());
        Err(error.clone())
    });
    let log = Log::default();
    let client = connect(Resilient::with_preset(desk, &preset(&log)), ()).await;
    let first = client.call_tool(call("look")).await.unwrap();
    assert_eq!(text(&first), "Error executing tool look: the cache is cold");
    let told = match client.call_tool(call("look")).await {
        Ok(second) => text(&second).to_owned(),
        Err(ServiceError::McpError(error)) => {
            assert_eq!(error.data, None, "nothing of the wrapper's own: {error:?}");
            error.message.into_owned()
        }
        Err(other) => panic!("no answer: {other:?}"),
    };
    assert!(told.contains("the cache is cold"), "{told}");
}

#[tokio::test(start_paused = true)]
async fn outside_of_a_wrapped_handler_a_failure_is_an_error_of_the_protocol() {
    let desk = Desk::new(|run: Run| async move {
        match &*run.params.name {
            "protocol" => {
                let data = json!({"mode": "safe"});
                Err(Failure::protocol(-31_001, "not now", Some(data)).into())
            }
            "crash" => Err(Failure::crash(io::Error::other("password hunter2")).into()),
            _ => Err(Failure::tool("no row").into()),
        }
    });
    let client = connect(desk, ()).await;
    let told = error(client.call_tool(call("protocol")).await);
    assert_eq!(told.code.0, -31_001);
    assert_eq!(told.data, Some(json!({"mode": "safe"})));
    let told = error(client.call_tool(call("tool")).await);
    assert_eq!(told, ErrorData::internal_error("no row", None));
    let told = error(client.call_tool(call("crash")).await);
    assert_eq!(told.code.0, -32603);
    assert!(!told.message.contains("hunter2"), "{told:?}");
}

#[tokio::test(start_paused = true)]
async fn two_crashes_in_tasks_keep_each_its_own_cause_under_the_id_that_its_line_names() {
    let traced = Traced::begin();
    let both = Arc::new(Barrier::new(2));
    let desk = Desk::new(move |run: Run| {
        let both = Arc::clone(&both);
        async move {
            let full = io::Error::other(format!("{} is full", run.params.name));
            let thrown = tokio::spawn(async { ErrorData::from(AnyError::from(full)) });
            let error = thrown.await.unwrap();
            // Neither returns before the other has thrown.
            both.wait().await;
            Err(error)
        }
    });
    let log = Log::default();
    let client = connect(Resilient::with_preset(desk, &preset(&log)), ()).await;
    let (first, second) = tokio::join!(
        client.call_tool(call("shelf_1")),
        client.call_tool(call("shelf_2"))
    );
    let (lines, events) = (log.all(), traced.end());
    for (tool, answer) in [("shelf_1", first), ("shelf_2", second)] {
        let answer = answer.unwrap();
        let is_its = |line: &&Value| text(&answer).contains(line["call_id"].as_str().unwrap());
        let line = lines.iter().find(is_its).unwrap();
        let error = line["error"].as_str().unwrap();
        let (_, id) = error.rsplit_once("under the id ").unwrap();
        let under_it: Vec<_> = events
            .iter()
            .filter(|event| event["fields"]["call_id"] == id)
            .collect();
        assert_eq!(under_it.len(), 1, "one event {id}: {events:#?}");
        assert_eq!(under_it[0]["level"], "ERROR");
        assert_eq!(under_it[0]["fields"]["error"], format!("{tool} is full"));
        assert_has(line, &json!({"tool": tool, "class": "crash"}));
    }
}
