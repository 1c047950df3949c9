//! How a failure gets out of a handler whose signature has room only for rmcp's error.

use crate::support::{Desk, Log, Run, assert_has, call, connect, ok, preset, text};
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
use std::{io, sync::Mutex};

/// What a client gets of a tool that does so, and its line.
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
async fn of_two_failures_at_once_the_returned_one_counts() {
    async fn fail(failure: Failure) -> Result<(), ErrorData> {
        tokio::task::yield_now().await;
        Err(failure.into())
    }
    let desk = Desk::new(|run: Run| async move {
        let (first, second) = tokio::join!(
            fail(Failure::tool("the first")),
            fail(Failure::invalid_input("b", "the second"))
        );
        match &*run.params.name {
            "first" => first?,
            "second" => second?,
            // Both were caught.
            _ => assert!(first.is_err() && second.is_err()),
        }
        ok("neither")
    });
    let log = Log::default();
    let client = connect(Resilient::with_preset(desk, &preset(&log)), ()).await;
    let mut texts = Vec::new();
    for tool in ["first", "second", "neither"] {
        let answer = client.call_tool(call(tool)).await.unwrap();
        texts.push(text(&answer).to_owned());
    }
    let expected = [
        "Error executing tool first: the first",
        "Error executing tool second: argument `b`: the second. \
         Correct the argument `b` and call it again.",
        "neither",
    ];
    assert_eq!(texts, expected);
    let classes: Vec<_> = log.all().iter().map(|l| l.get("class").cloned()).collect();
    assert_eq!(
        classes,
        [Some(json!("tool")), Some(json!("invalid_input")), None]
    );
}

#[tokio::test(start_paused = true)]
async fn a_failure_thrown_in_a_task_of_the_handlers_is_an_honest_error() {
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
async fn a_typed_failure_may_come_back_from_a_task_of_the_handlers() {
    let desk = Desk::new(|_| async {
        let task = tokio::spawn(async { Err::<(), _>(Failure::tool("no row")) });
        task.await.unwrap()?;
        ok("never")
    });
    let (answer, line) = answered(desk, "look").await;
    assert_eq!(text(&answer.unwrap()), "Error executing tool look: no row");
    assert_has(&line, &json!({"class": "tool"}));
}

#[tokio::test(start_paused = true)]
async fn a_panic_in_a_task_of_the_handlers_is_a_crash() {
    let desk = Desk::new(|_| async {
        let task = tokio::spawn(async { panic!("password hunter2") });
        task.await.map_err(AnyError::from)?;
        ok("never")
    });
    let (answer, line) = answered(desk, "look").await;
    let answer = answer.unwrap();
    assert!(text(&answer).starts_with("Error executing tool look (call "));
    assert_has(&line, &json!({"class": "crash", "level": "ERROR"}));
    assert!(line["error"].as_str().unwrap().contains("hunter2"));
}

#[tokio::test(start_paused = true)]
async fn a_failure_that_is_shared_by_two_calls_is_honest_in_both() {
    // As of two callers of one future that fills a cache.
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
