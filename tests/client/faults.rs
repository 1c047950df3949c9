//! Every fault of the hostile server, with a tool that may run twice and one that must not.

use crate::support::{LIMIT, Ledger, Log, SECOND, call, reconnect, resilience, retry};
use mcp_resilience::{
    Failure,
    rmcp::client::{Client, Connector},
};
use rmcp::model::CallToolResponse;
use serde_json::{Value, json};
use std::sync::Arc;
use tokio::{sync::Semaphore, task::JoinSet, time::timeout};

#[derive(Clone, Copy, Debug, PartialEq)]
enum Wire {
    Stdio,
    /// Answers as events.
    Events,
    /// Answers as JSON.
    Json,
}
use Wire::{Events, Json, Stdio};

/// The expected end of a call.
#[derive(Clone, Copy, Debug)]
enum End {
    /// A success after this many attempts.
    Good(usize),
    /// Flagged, as a failure of this class and delivery.
    Flagged(&'static str, &'static str),
    /// An error for the host, of this class.
    Rejected(&'static str),
}
use End::{Flagged, Good, Rejected};

struct Case {
    fault: Value,
    wires: &'static [Wire],
    /// Of the tool that may run twice.
    look: End,
    /// Of the one that must not, and how often that really ran.
    book: End,
    ran: usize,
}

const ALL: &[Wire] = &[Stdio, Events, Json];
const HTTP: &[Wire] = &[Events, Json];
const LOST: End = Flagged("connection", "unknown");
const UNREADABLE: End = Flagged("invalid_output", "executed");
const LATE: End = Flagged("timeout", "unknown");

/// A fault, and what becomes of both tools.
fn case(fault: Value, wires: &'static [Wire], look: End, book: End, ran: usize) -> Case {
    Case {
        fault,
        wires,
        look,
        book,
        ran,
    }
}

fn kind(kind: &str) -> Value {
    json!({"kind": kind})
}

fn status(status: u16, more: Value) -> Value {
    let mut fault = json!({"kind": "status", "status": status});
    let more = if let Value::Object(more) = more {
        more
    } else {
        serde_json::Map::new()
    };
    fault.as_object_mut().unwrap().extend(more);
    fault
}

#[rustfmt::skip]
fn cases() -> Vec<Case> {
    let mut cases = vec![
        case(kind("none"), ALL, Good(1), Good(1), 1),
        case(json!({"kind": "refuse", "retry_after": 0.2}), ALL, Good(2), Good(2), 1),
        case(kind("die_before"), ALL, Good(2), LOST, 0),
        case(kind("die_after"), ALL, Good(2), LOST, 1),
        case(kind("hang_before"), ALL, Good(2), LATE, 0),
        case(kind("hang"), ALL, Good(2), LATE, 1),
        case(kind("no_id"), &[Stdio], Good(2), LATE, 1),
        case(kind("no_id"), HTTP, Good(1), Good(1), 1),
        case(kind("null_id"), &[Stdio], Good(2), LATE, 1),
        case(kind("null_id"), HTTP, Good(1), Good(1), 1),
        case(kind("foreign_id"), &[Stdio], Good(2), LATE, 1),
        case(kind("foreign_id"), HTTP, UNREADABLE, UNREADABLE, 1),
        case(kind("error_no_id"), &[Stdio], Good(2), LATE, 0),
        case(kind("error_no_id"), HTTP, Rejected("protocol"), Rejected("protocol"), 0),
        case(kind("error_null_id"), &[Stdio], Good(2), LATE, 0),
        case(kind("error_null_id"), HTTP, Rejected("protocol"), Rejected("protocol"), 0),
        case(kind("twice"), ALL, Good(1), Good(1), 1),
        case(json!({"kind": "late", "seconds": 0.3}), ALL, Good(1), Good(1), 1),
        case(json!({"kind": "late", "seconds": 60}), ALL, Good(2), LATE, 1),
        case(kind("noise"), ALL, Good(1), Good(1), 1),
        case(kind("wrong_result"), ALL, UNREADABLE, UNREADABLE, 1),
        case(kind("not_found"), HTTP, Good(2), Good(2), 1),
        case(json!({"kind": "not_found", "silent": true}), HTTP, Good(2), Flagged("session_lost", "unknown"), 0),
        case(json!({"kind": "not_found_after", "silent": true}), HTTP, Good(2), Flagged("session_lost", "unknown"), 1),
        case(kind("stale"), HTTP, Good(2), Good(2), 1),
        case(status(401, json!({"authenticate": "Bearer"})), HTTP, Rejected("unauthorized"), Rejected("unauthorized"), 0),
        case(status(403, json!({})), HTTP, Flagged("forbidden", "refused"), Flagged("forbidden", "refused"), 0),
        case(status(408, json!({})), HTTP, Good(2), LATE, 0),
        case(status(408, json!({"after": true})), HTTP, Good(2), LATE, 1),
        case(status(408, json!({"retry_after": "0"})), HTTP, Good(2), Good(2), 1),
        case(status(429, json!({})), HTTP, Good(2), Good(2), 1),
        case(status(429, json!({"retry_after": "1"})), HTTP, Good(2), Good(2), 1),
        case(status(503, json!({"retry_after": "1", "rpc": true})), HTTP, Good(2), Good(2), 1),
        case(status(429, json!({"retry_after": "Thu, 01 Jan 1970 00:00:00 GMT"})), HTTP, Good(2), Good(2), 1),
        case(status(503, json!({})), HTTP, Good(2), Flagged("unavailable", "unknown"), 0),
        case(status(503, json!({"after": true})), HTTP, Good(2), Flagged("unavailable", "unknown"), 1),
        case(status(500, json!({"after": true})), HTTP, Good(2), Flagged("upstream", "unknown"), 1),
        case(status(500, json!({"rpc": true, "after": true})), HTTP, Rejected("protocol"), Rejected("protocol"), 1),
        case(status(400, json!({})), HTTP, Flagged("invalid_input", "unknown"), Flagged("invalid_input", "unknown"), 0),
        case(json!({"kind": "html", "after": true}), HTTP, UNREADABLE, UNREADABLE, 1),
        case(json!({"kind": "html"}), HTTP, UNREADABLE, UNREADABLE, 0),
        case(json!({"kind": "cut_body", "byte": 0}), HTTP, Good(2), LOST, 1),
        case(json!({"kind": "cut_body", "byte": 20}), HTTP, Good(2), LOST, 1),
        case(json!({"kind": "cut_stream"}), HTTP, Good(2), LOST, 1),
        case(json!({"kind": "cut_stream", "torn": true}), HTTP, Good(2), LOST, 1),
        case(json!({"kind": "cut_stream", "priming": true}), HTTP, Good(2), LOST, 1),
        case(json!({"kind": "cut_stream", "priming": true, "torn": true}), HTTP, Good(2), LOST, 1),
        case(kind("drop_before"), HTTP, Good(2), LOST, 0),
        case(kind("drop_after"), HTTP, Good(2), LOST, 1),
    ];
    for byte in [0, 1, 17, 60] {
        cases.push(case(json!({"kind": "die_at_byte", "byte": byte}), ALL, Good(2), LOST, 1));
    }
    // The whole answer, and only then the end.
    cases.push(case(json!({"kind": "die_at_byte", "byte": 100_000}), ALL, Good(1), Good(1), 1));
    cases
}

/// One call, and what is wrong with its end.
async fn make(case: &Case, wire: Wire, tool: &'static str) -> Result<(), String> {
    let ledger = Ledger::new();
    match wire {
        Stdio => check(case, tool, &ledger, ledger.stdio(&[])).await,
        Events => {
            let server = ledger.http(&["--answer", "sse"]).await;
            check(case, tool, &ledger, server.connector()).await
        }
        Json => {
            let server = ledger.http(&["--answer", "json"]).await;
            check(case, tool, &ledger, server.connector()).await
        }
    }
}

async fn check(
    case: &Case,
    tool: &'static str,
    ledger: &Ledger,
    connector: impl Connector,
) -> Result<(), String> {
    let log = Log::default();
    // A limit only where there will be no answer: elsewhere a busy machine may take its time.
    let limit = if matches!(case.book, Flagged("timeout", _)) {
        10
    } else {
        200
    };
    let resilience = resilience(&log, retry()).attempt_timeout(limit * SECOND);
    let client = Client::builder(connector)
        .resilience(resilience.build().unwrap())
        .reconnect(reconnect().build().unwrap());
    let client = client
        .connect()
        .await
        .map_err(|failure| format!("no server: {failure}"))?;
    let answer = timeout(LIMIT, client.call_tool(call(tool, &case.fault, 1))).await;
    let answer = answer.map_err(|elapsed| format!("the call never ended: {elapsed}"))?;
    let line = log.line();
    let (expected, may_have_run) = match tool {
        "look" => (case.look, 2),
        _ => (case.book, case.ran),
    };
    is_as_expected(&answer, &line, expected).map_err(|problem| format!("{problem}\n{line}"))?;
    let ran = ledger.count("executed");
    let is_right = if tool == "book" {
        ran == case.ran
    } else {
        ran <= may_have_run
    };
    if !is_right {
        return Err(format!("ran {ran} time(s)"));
    }
    client.close().await;
    Ok(())
}

/// Whether there were this many attempts, and beyond them only late ones.
fn is_made(attempts: usize, line: &Value) -> bool {
    let retries = line["retries"].as_array().map_or(&[][..], Vec::as_slice);
    let more = retries.get(attempts - 1..);
    more.is_some_and(|more| more.iter().all(|retry| retry["class"] == "timeout"))
}

fn is_as_expected(
    answer: &Result<CallToolResponse, Failure>,
    line: &Value,
    expected: End,
) -> Result<(), String> {
    let is_flagged = match answer {
        Ok(CallToolResponse::Complete(result)) => Some(result.is_error == Some(true)),
        _ => None,
    };
    let is_right = match expected {
        Good(attempts) => is_flagged == Some(false) && is_made(attempts, line),
        Flagged(class, delivery) => {
            is_flagged == Some(true) && line["class"] == class && line["delivery"] == delivery
        }
        Rejected(class) => answer.is_err() && line["class"] == class,
    };
    if is_right {
        return Ok(());
    }
    Err(format!("{answer:?} instead of {expected:?}"))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_fault_ends_the_call_as_it_should_and_nothing_runs_twice_that_must_not() {
    let at_once = Arc::new(Semaphore::new(24));
    let mut calls = JoinSet::new();
    for case in cases() {
        let case = Arc::new(case);
        for &wire in case.wires {
            for tool in ["look", "book"] {
                let (case, at_once) = (Arc::clone(&case), Arc::clone(&at_once));
                calls.spawn(async move {
                    let _turn = at_once.acquire().await.unwrap();
                    let outcome = make(&case, wire, tool).await;
                    outcome.map_err(|problem| {
                        format!("{tool} with {} over {wire:?}: {problem}", case.fault)
                    })
                });
            }
        }
    }
    let mut problems = Vec::new();
    let mut count = 0;
    while let Some(outcome) = calls.join_next().await {
        count += 1;
        problems.extend(outcome.unwrap().err());
    }
    assert!(count > 200, "{count} cases");
    assert!(
        problems.is_empty(),
        "{} of {count}:\n\n{}",
        problems.len(),
        problems.join("\n\n")
    );
}
