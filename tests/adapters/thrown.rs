//! A failure leaves a handler by `?`, through the error type of the SDK.

use super::{Adapter, OK, Served, Tool, any, call, flagged, for_the_adapter, success};
use crate::support::assert_has;
use mcp_resilience::{Failure, failure::RpcError, rmcp::AnyError};
use serde_json::{Value, json};
use std::{io, sync::Arc, time::Duration};
use tokio::sync::Barrier;

for_the_adapter! {
    a_failure_is_flagged_with_its_code_and_its_text_but_not_its_source
    any_other_error_is_a_crash_that_tells_nothing
    a_protocol_error_keeps_its_code_and_its_data
    the_returned_one_of_two_failures_counts
    an_error_thrown_in_a_task_of_the_handlers_tells_nothing
    a_typed_failure_may_come_back_from_a_task_of_the_handlers
    a_panic_in_a_task_of_the_handlers_is_a_crash
    two_crashes_at_once_keep_each_its_own_cause_under_its_own_id
}

fn secret() -> io::Error {
    io::Error::other("password hunter2")
}

/// The answer to a call of such a tool, and its line.
async fn answered<A: Adapter>(tool: Tool<A::Error>) -> (Value, Value) {
    let served = Served::<A>::new(tool);
    let answer = served.call().await;
    assert!(!answer.to_string().contains("hunter2"), "{answer:#}");
    assert_eq!(served.runs.so_far(), 1);
    let line = served.log.only();
    assert!(!line.to_string().contains("hunter2"), "{line:#}");
    (answer, line)
}

/// A flagged result with nothing but an id, which the line has too.
#[track_caller]
fn assert_is_crash(answer: &Value, line: &Value) {
    let said = flagged(answer);
    assert!(
        said.starts_with("Error executing tool book (call "),
        "{said}"
    );
    let wanted = json!({"outcome": "failed", "class": "crash", "level": "ERROR"});
    assert_has(line, &wanted);
}

async fn a_failure_is_flagged_with_its_code_and_its_text_but_not_its_source<A: Adapter>() {
    let tool = Tool::failing(|| {
        let busy = Failure::rate_limited(Some(Duration::from_secs(30)));
        busy.with_code("E_BUSY").because(secret()).into()
    });
    let (answer, line) = answered::<A>(tool).await;
    let said = flagged(&answer);
    assert!(
        said.starts_with("Error executing tool book: too many calls."),
        "{said}"
    );
    let wanted = json!({"code": "E_BUSY", "error": "too many calls", "retryAfter": 30});
    assert_has(&answer["result"]["structuredContent"], &wanted);
    assert_has(&line, &json!({"class": "rate_limited", "code": "E_BUSY"}));
    let error = line["error"].as_str().unwrap();
    assert!(error.contains("password [masked]"), "{error}");
}

async fn any_other_error_is_a_crash_that_tells_nothing<A: Adapter>() {
    let (answer, line) = answered::<A>(Tool::failing(|| any(secret()))).await;
    assert_is_crash(&answer, &line);
    assert!(flagged(&answer).contains(line["call_id"].as_str().unwrap()));
}

async fn a_protocol_error_keeps_its_code_and_its_data<A: Adapter>() {
    let data = json!({"mode": "safe"});
    let error = RpcError::new(-31_001, "not now", Some(data.clone()));
    let wanted = json!({"code": -31_001, "message": "not now", "data": data});
    let tool = Tool::failing(move || {
        let RpcError {
            code,
            message,
            data,
            ..
        } = error.clone();
        Failure::protocol(code, message, data).into()
    });
    let (answer, line) = answered::<A>(tool).await;
    assert_eq!(answer["error"], wanted);
    assert_has(&line, &json!({"class": "protocol", "code": -31_001}));
}

async fn the_returned_one_of_two_failures_counts<A: Adapter>() {
    async fn fail<E: From<Failure>>(failure: Failure) -> Result<(), E> {
        tokio::task::yield_now().await;
        Err(failure.into())
    }
    let served = Served::<A>::new(Tool::new(async |run| {
        let (first, second): (Result<_, A::Error>, Result<_, A::Error>) = tokio::join!(
            fail(Failure::tool("the first")),
            fail(Failure::invalid_input("b", "the second"))
        );
        match run {
            1 => first?,
            2 => second?,
            // Both were caught.
            _ => assert!(first.is_err() && second.is_err()),
        }
        Ok(OK)
    }));
    let first = served.call().await;
    assert_eq!(flagged(&first), "Error executing tool book: the first");
    let second = served.call().await;
    let wanted = "Error executing tool book: argument `b`: the second. \
                  Correct the argument `b` and call it again.";
    assert_eq!(flagged(&second), wanted);
    assert_eq!(success(&served.call().await), "fine");
    let classes: Vec<_> = served
        .log
        .all()
        .iter()
        .map(|l| l["class"].clone())
        .collect();
    assert_eq!(
        classes,
        [json!("tool"), json!("invalid_input"), Value::Null]
    );
}

/// There it becomes the SDK's own error, which refers to the log by an id.
async fn an_error_thrown_in_a_task_of_the_handlers_tells_nothing<A: Adapter>() {
    let tool = Tool::new(async |_| {
        let task = async { Err(A::Error::from(AnyError::from(secret()))) };
        tokio::spawn(task).await.unwrap()
    });
    let (answer, line) = answered::<A>(tool).await;
    flagged(&answer);
    assert_has(&line, &json!({"outcome": "failed", "attempts": 1}));
}

async fn a_typed_failure_may_come_back_from_a_task_of_the_handlers<A: Adapter>() {
    let tool = Tool::new(async |_| {
        let task = tokio::spawn(async { Err::<(), _>(Failure::tool("no row")) });
        task.await.unwrap()?;
        Ok(OK)
    });
    let (answer, line) = answered::<A>(tool).await;
    assert_eq!(flagged(&answer), "Error executing tool book: no row");
    assert_has(&line, &json!({"class": "tool"}));
}

async fn a_panic_in_a_task_of_the_handlers_is_a_crash<A: Adapter>() {
    let tool = Tool::new(async |_| {
        let task = tokio::spawn(async { panic!("password hunter2") });
        task.await.map_err(AnyError::from)?;
        Ok(OK)
    });
    let (answer, line) = answered::<A>(tool).await;
    assert_is_crash(&answer, &line);
    let error = line["error"].as_str().unwrap();
    assert!(error.contains("password [masked]"), "{error}");
}

async fn two_crashes_at_once_keep_each_its_own_cause_under_its_own_id<A: Adapter>() {
    let both = Arc::new(Barrier::new(2));
    let served = Served::<A>::new(Tool::new(move |run| {
        let both = Arc::clone(&both);
        async move {
            let error = any(io::Error::other(format!("shelf {run} is full")));
            // Neither returns before the other has thrown.
            both.wait().await;
            Err(error)
        }
    }));
    let (mut first, mut second) = (served.client().await, served.client().await);
    let answers = tokio::join!(call(&mut first), call(&mut second));
    let mut errors = Vec::new();
    for answer in <[Value; 2]>::from(answers) {
        let mut lines = served.log.all();
        assert_eq!(lines.len(), 2);
        let told = flagged(&answer);
        lines.retain(|line| told.contains(line["call_id"].as_str().unwrap()));
        assert_eq!(lines.len(), 1, "{told}");
        assert_is_crash(&answer, &lines[0]);
        errors.push(lines[0]["error"].as_str().unwrap().to_owned());
    }
    errors.sort();
    let wanted = [1, 2].map(|run| format!("failed unexpectedly: shelf {run} is full"));
    assert_eq!(errors, wanted);
}
