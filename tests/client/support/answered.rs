//! Calls whose answer a test writes byte by byte, on every transport.

use super::{Ledger, Log, SECOND, call, reconnect, resilience, retry, within};
use mcp_resilience::{
    Failure,
    rmcp::client::{Client, Connector},
};
use rmcp::model::CallToolResponse;
use serde_json::{Value, json};
use std::sync::Arc;
use tokio::{sync::Semaphore, task::JoinSet};

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Wire {
    Stdio,
    /// HTTP, with a stream of events.
    Events,
    /// HTTP, with one JSON body.
    Json,
}
use Wire::{Events, Json, Stdio};

pub(crate) const ALL: &[Wire] = &[Stdio, Events, Json];
pub(crate) const HTTP: &[Wire] = &[Events, Json];

/// How a call ends.
#[derive(Clone, Copy, Debug)]
pub(crate) enum End {
    /// A good result with that text in it.
    Good(&'static str),
    /// A flagged result of the tool itself.
    ToolError,
    /// The error of the server, with that in the log's line.
    Failed(&'static str),
    /// The same, with that code.
    FailedWith(i64, &'static str),
    /// Executed, and cannot be read: the log's line says why.
    Unreadable(&'static str),
}
use End::{Failed, FailedWith, Good, ToolError, Unreadable};

/// The bytes of a server, the transports, and how the call ends.
pub(crate) type Case = (String, &'static [Wire], End);

/// The members of a good result.
pub(crate) const RESULT: &str = r#""result":{"content":[{"type":"text","text":"good"}]}"#;

/// An answer with these members beside its id.
pub(crate) fn answer(members: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":$ID,{members}}}"#)
}

/// An answer with a result of this JSON.
pub(crate) fn result(result: &str) -> String {
    answer(&format!(r#""result":{result}"#))
}

/// Makes a call of the tool for each case on each of its wires. Fails unless each call ends as expected, at
/// once, without a repeat, and leaves the connection as it was.
pub(crate) async fn assert_each(tool: &'static str, cases: impl IntoIterator<Item = Case>) {
    let at_once = Arc::new(Semaphore::new(8));
    let mut calls = JoinSet::new();
    for (text, wires, end) in cases {
        for &wire in wires {
            let (text, at_once) = (text.clone(), Arc::clone(&at_once));
            calls.spawn(async move {
                let _turn = at_once.acquire().await.unwrap();
                let outcome = make(tool, &text, wire, end).await;
                outcome.map_err(|problem| format!("{text} over {wire:?}: {problem}"))
            });
        }
    }
    let outcomes = calls.join_all().await;
    let count = outcomes.len();
    let problems: Vec<_> = outcomes.into_iter().filter_map(Result::err).collect();
    assert!(
        problems.is_empty(),
        "{} of {count}:\n\n{}",
        problems.len(),
        problems.join("\n\n")
    );
}

async fn make(tool: &'static str, text: &str, wire: Wire, end: End) -> Result<(), String> {
    let ledger = Ledger::new();
    match wire {
        Stdio => check(tool, text, end, &ledger, ledger.stdio(&[])).await,
        Events | Json => {
            let answer = if wire == Events { "sse" } else { "json" };
            let server = ledger.http(&["--answer", answer]).await;
            check(tool, text, end, &ledger, server.connector()).await
        }
    }
}

async fn check(
    tool: &'static str,
    text: &str,
    end: End,
    ledger: &Ledger,
    connector: impl Connector,
) -> Result<(), String> {
    let log = Log::default();
    // No limit ends such a call in a test that passes.
    let limits = resilience(&log, retry().deadline(100 * SECOND)).attempt_timeout(60 * SECOND);
    let client = Client::builder(connector)
        .resilience(limits.build().unwrap())
        .reconnect(reconnect().build().unwrap());
    let client = within("a connection", client.connect()).await.unwrap();
    let raw = json!({"kind": "raw", "text": text});
    let answer = client.call_tool(call(tool, &raw, 1)).await;
    let line = log.line();
    is_as_expected(&answer, &line, end).map_err(|problem| format!("{problem}\n{line}"))?;

    let next = client
        .call_tool(call(tool, &json!({"kind": "none"}), 0))
        .await;
    if !matches!(&next, Ok(CallToolResponse::Complete(result)) if result.is_error != Some(true)) {
        return Err(format!("the next call: {next:?}"));
    }
    let (ran, starts) = (ledger.count("executed"), ledger.count("initialized"));
    if (ran, starts, client.handle().generation()) != (2, 1, 1) {
        return Err(format!("ran {ran} time(s) on {starts} connection(s)"));
    }
    client.close().await;
    Ok(())
}

fn is_as_expected(
    answer: &Result<CallToolResponse, Failure>,
    line: &Value,
    end: End,
) -> Result<(), String> {
    let result = match answer {
        Ok(CallToolResponse::Complete(result)) => json!(result),
        _ => Value::Null,
    };
    let said = line["error"].as_str().unwrap_or("");
    let has_failed =
        |text| line["outcome"] == "failed" && line["class"] != "timeout" && said.contains(text);
    let is_right = match end {
        Good(text) => result["isError"] != true && result["content"].to_string().contains(text),
        ToolError => result["isError"] == true && line["class"] == "tool",
        Failed(text) => has_failed(text),
        FailedWith(code, text) => has_failed(text) && line["code"] == code,
        Unreadable(reason) => {
            line["class"] == "invalid_output"
                && line["delivery"] == "executed"
                && line["attempts"] == 1
                && said.contains(reason)
                && result["content"].to_string().contains("has run")
        }
    };
    if is_right {
        return Ok(());
    }
    Err(format!("{answer:?} instead of {end:?}"))
}
