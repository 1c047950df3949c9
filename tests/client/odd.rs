//! Answers as careless servers write them: each ends its call because it came, on every wire.

use crate::support::{Ledger, Log, SECOND, call, reconnect, resilience, retry, within};
use mcp_resilience::rmcp::client::{ChildProcess, Client, Connector};
use rmcp::model::CallToolResponse;
use serde_json::{Value, json};
use std::{sync::Arc, time::Duration};
use tokio::{sync::Semaphore, task::JoinSet};

#[derive(Clone, Copy, Debug, PartialEq)]
enum Wire {
    Stdio,
    Events,
    Json,
}
use Wire::{Events, Json, Stdio};

const ALL: &[Wire] = &[Stdio, Events, Json];
const HTTP: &[Wire] = &[Events, Json];

#[derive(Clone, Copy, Debug)]
enum End {
    /// A good result with that text in it.
    Good(&'static str),
    /// A flagged result of the tool itself.
    ToolError,
    /// The error of the server, with that in the log's line.
    Failed(&'static str),
    /// Executed, and cannot be read: the log's line says why.
    Unreadable(&'static str),
}
use End::{Failed, Good, ToolError, Unreadable};

const RESULT: &str = r#""result":{"content":[{"type":"text","text":"good"}]}"#;
const PRETTY: &str = "{\n  \"jsonrpc\": \"2.0\",\n  \"id\": $ID,\n  \"result\": {\n    \"content\": [\n      \
    { \"type\": \"text\", \"text\": \"good\" }\n    ]\n  }\n}";
const ERROR: &str = r#""error":{"code":-32004,"message":"too many requests"}"#;

/// An answer with these members beside its id.
fn answer(members: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":$ID,{members}}}"#)
}

/// An answer with a result of this JSON.
fn result(result: &str) -> String {
    answer(&format!(r#""result":{result}"#))
}

/// An answer with an error of this JSON.
fn error(error: &str) -> String {
    answer(&format!(r#""error":{error}"#))
}

#[rustfmt::skip]
fn cases() -> Vec<(String, &'static [Wire], End)> {
    let good = answer(RESULT);
    let block = |block: &str| result(&format!(r#"{{"content":[{{"type":"text","text":"booked"}},{block}]}}"#));
    vec![
        // Null members are absent.
        (answer(&format!(r#"{RESULT},"error":null"#)), ALL, Good("good")),
        (answer(&format!(r#"{ERROR},"result":null"#)), ALL, Failed("too many requests")),
        (answer(&format!(r#"{RESULT},"method":null"#)), ALL, Good("good")),
        (answer(&format!(r#"{RESULT},"error":false"#)), ALL, Good("good")),
        (answer(&format!(r#"{ERROR},"result":{{}}"#)), ALL, Failed("too many requests")),
        // Both, neither, twice.
        (answer(&format!("{RESULT},{ERROR}")), ALL, Unreadable("both a result and an error")),
        (r#"{"jsonrpc":"2.0","id":$ID}"#.to_owned(), ALL, Unreadable("neither a result nor an error")),
        (answer(r#""result":null,"error":null"#), ALL, Unreadable("neither a result nor an error")),
        (answer(&format!("{RESULT},{RESULT}")), ALL, Good("good")),
        (answer(&format!(r#"{RESULT},"result":{{"content":[]}}"#)), ALL, Unreadable("`result` twice")),
        // Errors of any form.
        (error(r#"{"code":-32004.0,"message":"slow down"}"#), ALL, Failed("slow down")),
        (error(r#"{"code":"-32004","message":"slow down"}"#), ALL, Failed("slow down")),
        (error(r#"{"code":99999999999,"message":"slow down"}"#), ALL, Failed("slow down")),
        (error(r#"{"message":"slow down"}"#), ALL, Failed("slow down")),
        (error(r#"{"code":-32004,"message":{"de":"langsam"}}"#), ALL, Failed("langsam")),
        (error(r#"{"code":-32004}"#), ALL, Failed("gave no message")),
        (error(r#"{"code":-32004,"message":null}"#), ALL, Failed("gave no message")),
        (error(r#""slow down""#), ALL, Failed("slow down")),
        // The version, the mark, the list, the id.
        (good.replace(r#""jsonrpc":"2.0","#, ""), ALL, Good("good")),
        (good.replace("2.0", "1.0"), ALL, Good("good")),
        (format!("\u{feff}{good}"), ALL, Good("good")),
        (format!("[{good}]"), ALL, Good("good")),
        (good.replace("$ID", r#""$ID""#), ALL, Good("good")),
        (good.replace("$ID", "$ID.0"), ALL, Good("good")),
        (good.replace(r#""id":$ID,"#, ""), HTTP, Good("good")),
        (good.replace("$ID", "null"), HTTP, Good("good")),
        (good.replace("$ID", "987654"), HTTP, Unreadable("to another request")),
        // Bytes, broken JSON, size, depth.
        (good.replace("good", "go$BYTESod"), ALL, Good("go\u{fffd}\u{fffd}od")),
        (good.replace("good", "go\"od"), ALL, Unreadable("no json")),
        (result(r#"{"content":[],"structuredContent":{"x":NaN}}"#), ALL, Unreadable("no json")),
        (good.replace("good", "$LONG"), ALL, Unreadable("longer than 16 MiB")),
        (result("$DEEP"), ALL, Unreadable("no json")),
        (good.replace("}]}", ""), ALL, Unreadable("no json")),
        (format!("{good} and more"), ALL, Good("good")),
        // Text before it, or something else.
        (format!("Loading...{good}"), ALL, Good("good")),
        (format!("INFO {good}"), ALL, Good("good")),
        (format!("data: {good}"), ALL, Good("good")),
        (format!("\0{good}"), ALL, Good("good")),
        (format!("\u{1b}[0m{good}"), ALL, Good("good")),
        (format!("{{dbg}} {good}"), ALL, Good("good")),
        (format!("{{'a': 1}} {good}"), ALL, Good("good")),
        (format!(r#"[{{"level":"info"}},{good}]"#), ALL, Good("good")),
        (format!(r#"{{"jsonrpc":"2.0","id":987654,"result":{{"x":NaN}}}}{good}"#), ALL, Good("good")),
        (format!(r#"[{{"jsonrpc":"2.0","method":"x","params":NaN}},{good}]"#), ALL, Good("good")),
        (json!(good).to_string().replace("$ID\\\"", "$ID"), ALL, Good("good")),
        // Logs as JSON with an id of their own.
        (format!("{}\n{good}", r#"{"level":"error","msg":"cache miss","error":"disk full","id":$ID}"#), &[Stdio], Good("good")),
        (format!("{}\n{good}", r#"{"level":"info","msg":"done","result":"ok","id":$ID}"#), &[Stdio], Good("good")),
        // An answer that names the method.
        (answer(&format!(r#""method":"tools/call",{RESULT}"#)), ALL, Good("good")),
        (answer(&format!(r#""method":"tools/call",{ERROR}"#)), ALL, Failed("too many requests")),
        // The id in the middle, or written another way.
        (r#"{"result":{"content":[{"text":"a "b" c"d"}]},"id":$ID,"jsonrpc":"2.0"}"#.to_owned(), ALL, Unreadable("no json")),
        (r#"{"jsonrpc":"2.0","\u0069d":$ID,"result":{"x":NaN}}"#.to_owned(), ALL, Unreadable("no json")),
        (good.replace("$ID", "[$ID]"), ALL, Good("good")),
        (good.replace("$ID", r#"{"value":$ID}"#), ALL, Good("good")),
        // The same member twice, further inside.
        (result(r#"{"content":[],"content":[{"type":"text","text":"good"}]}"#), ALL, Good("good")),
        (result(r#"{"content":[{"type":"text","text":"bad","text":"good"}]}"#), ALL, Good("good")),
        // Results without anything.
        (result("{}"), ALL, Unreadable("nothing in it")),
        (result(r#"{"_meta":{}}"#), ALL, Unreadable("nothing in it")),
        (result(r#"{"resultType":"complete"}"#), ALL, Unreadable("nothing in it")),
        (result(r#"{"isError":false}"#), ALL, Unreadable("nothing in it")),
        (result(r#"{"content":[]}"#), ALL, Good("[]")),
        // Errors that say nothing.
        (answer(&format!(r#"{RESULT},"error":0"#)), ALL, Good("good")),
        (answer(&format!(r#"{RESULT},"error":[]"#)), ALL, Good("good")),
        (answer(&format!(r#"{RESULT},"error":"null""#)), ALL, Good("good")),
        (answer(&format!(r#"{RESULT},"error":{{"code":0,"message":""}}"#)), ALL, Good("good")),
        (error(r#""""#), ALL, Unreadable("neither a result nor an error")),
        (error("{}"), ALL, Unreadable("neither a result nor an error")),
        (format!("{good}{good}"), ALL, Good("good")),
        (format!(r#"{good}{{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}}"#), ALL, Good("good")),
        // Results of another kind.
        (result(r#""good""#), ALL, Unreadable("a text, not an object")),
        (result("[]"), ALL, Unreadable("a list, not an object")),
        (result(r#"[{"type":"text","text":"good"}]"#), ALL, Unreadable("a list, not an object")),
        (result("null"), ALL, Unreadable("neither a result nor an error")),
        (result("7"), ALL, Unreadable("a number, not an object")),
        (result(r#"{"answer":42}"#), ALL, Unreadable("its result cannot be read")),
        // Parts of another kind.
        (result(r#"{"content":"good"}"#), ALL, Good("good")),
        (result(r#"{"content":{"type":"text","text":"good"}}"#), ALL, Good("good")),
        (result(r#"{"content":7}"#), ALL, Unreadable("no list of blocks")),
        (result(r#"{"content":[{"type":"text","text":"bad"}],"isError":"true"}"#), ALL, ToolError),
        (result(r#"{"content":[{"type":"text","text":"bad"}],"isError":"perhaps"}"#), ALL, Unreadable("`isError`")),
        (result(r#"{"content":[{"type":"text","text":"good"}],"_meta":[]}"#), ALL, Good("good")),
        (result(r#"{"content":[{"type":"text","text":"good","annotations":7}]}"#), ALL, Good("good")),
        (result(r#"{"content":[{"type":"text","text":null}]}"#), ALL, Unreadable("nothing of its result")),
        (block(r#"{"type":"text","text":null}"#), ALL, Good("left out")),
        (block(r#"{"type":"video","data":"x"}"#), ALL, Good("a block of the type `video` was left out")),
        (block(r#"{"type":"resource_link","uri":"ui://x"}"#), ALL, Good("missing field `name`")),
        (block(r#"{"type":"video"}"#), ALL, Good("booked")),
        // Bodies without an answer.
        (String::new(), &[Json], Unreadable("it is empty")),
        ("{}".to_owned(), HTTP, Unreadable("neither a result nor an error")),
        ("[]".to_owned(), &[Json], Unreadable("no answer in it")),
        (r#""good""#.to_owned(), &[Json], Unreadable("no json-rpc message")),
        (r#"{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}"#.to_owned(), &[Json], Unreadable("no answer in it")),
    ]
}

#[rustfmt::skip]
fn odd_ids_and_numbers() -> Vec<(String, &'static [Wire], End)> {
    let good = answer(RESULT);
    vec![
        (good.replace("$ID", "true"), &[Stdio], Unreadable("of a type that no request has")),
        (good.replace("$ID", "{}"), &[Stdio], Unreadable("of a type that no request has")),
        (good.replace("$ID", "1.5"), ALL, Unreadable("of a type that no request has")),
        (good.replace("$ID", "[$ID,$ID]"), &[Stdio], Unreadable("of a type that no request has")),
        (error("7").replace("$ID", "false"), &[Stdio], Unreadable("of a type that no request has")),
        // Numbers that are too big.
        (error(r#"{"code":-32004,"message":"slow down","data":{"retryAfter":1e400}}"#), ALL, Failed("slow down")),
        (error(r#"{"code":1e400,"message":"slow down"}"#), ALL, Failed("slow down")),
        (result(r#"{"content":[{"type":"text","text":"good"}],"structuredContent":{"n":-1e400}}"#), ALL, Good("good")),
        (format!("INFO {}", result(r#"{"content":[{"type":"text","text":"good"}],"_meta":{"n":[1e400]}}"#)), ALL, Good("good")),
    ]
}

/// Answers whose lines or whose characters are not what they should be.
#[rustfmt::skip]
fn written_otherwise() -> Vec<(String, &'static [Wire], End)> {
    let good = answer(RESULT);
    vec![
        // An answer over several lines, or as another language writes it.
        (PRETTY.to_owned(), ALL, Good("good")),
        (PRETTY.replace('\n', "\r\n"), ALL, Good("good")),
        (format!("{{\"a\":\n{good}"), &[Stdio], Good("good")),
        (good.replace('"', "'"), ALL, Unreadable("no json")),
        (good.replace("\"id\"", "\"ID\""), ALL, Good("good")),
        (good.replace("good", "good\\ud83d"), ALL, Good("good\u{fffd}")),
        (result(r#"{"content":["good"]}"#), ALL, Good("good")),
        // Ends of lines that are none.
        (format!("[{good}]$STAY"), &[Stdio], Good("good")),
        (format!("{good} and more$STAY"), &[Stdio], Good("good")),
        (format!("{good}$STAY"), &[Stdio], Good("good")),
        (format!("{good}\r$STAY"), &[Stdio], Good("good")),
    ]
}

async fn make(text: &str, wire: Wire, end: End) -> Result<(), String> {
    let ledger = Ledger::new();
    match wire {
        Stdio => check(text, end, &ledger, ledger.stdio(&[])).await,
        Events | Json => {
            let answer = if wire == Events { "sse" } else { "json" };
            let server = ledger.http(&["--answer", answer]).await;
            check(text, end, &ledger, server.connector()).await
        }
    }
}

async fn check(
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
    let answer = client.call_tool(call("look", &raw, 1)).await;
    let line = log.line();
    is_as_expected(&answer, &line, end).map_err(|problem| format!("{problem}\n{line}"))?;

    let next = client
        .call_tool(call("look", &json!({"kind": "none"}), 0))
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
    answer: &Result<CallToolResponse, mcp_resilience::Failure>,
    line: &Value,
    end: End,
) -> Result<(), String> {
    let result = match answer {
        Ok(CallToolResponse::Complete(result)) => json!(result),
        _ => Value::Null,
    };
    let said = line["error"].as_str().unwrap_or("");
    let is_right = match end {
        Good(text) => result["isError"] != true && result["content"].to_string().contains(text),
        ToolError => result["isError"] == true && line["class"] == "tool",
        Failed(text) => {
            line["outcome"] == "failed" && line["class"] != "timeout" && said.contains(text)
        }
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

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_odd_answer_ends_its_call_at_once_and_the_connection_is_kept() {
    let at_once = Arc::new(Semaphore::new(8));
    let mut calls = JoinSet::new();
    let cases = cases().into_iter().chain(odd_ids_and_numbers());
    for (text, wires, end) in cases.chain(written_otherwise()) {
        for &wire in wires {
            let (text, at_once) = (text.clone(), Arc::clone(&at_once));
            calls.spawn(async move {
                let _turn = at_once.acquire().await.unwrap();
                let outcome = make(&text, wire, end).await;
                outcome.map_err(|problem| format!("{text} over {wire:?}: {problem}"))
            });
        }
    }
    let mut problems = Vec::new();
    let mut count = 0;
    while let Some(outcome) = calls.join_next().await {
        count += 1;
        problems.extend(outcome.unwrap().err());
    }
    assert!(count > 150, "{count} cases");
    assert!(
        problems.is_empty(),
        "{} of {count}:\n\n{}",
        problems.len(),
        problems.join("\n\n")
    );
}

/// A call that is to run into its limit, and what the log says of it.
async fn skipped(text: &str, attempt: Duration, on_the_wire: Option<Duration>) -> Value {
    let ledger = Ledger::new();
    let log = Log::default();
    let retry = retry().max_attempts(1).deadline(100 * SECOND);
    let limits = resilience(&log, retry).attempt_timeout(attempt);
    let mut connector = ledger.stdio(&[]);
    if let Some(limit) = on_the_wire {
        connector = connector.call_timeout(limit);
    }
    let client = Client::builder(connector)
        .resilience(limits.build().unwrap())
        .reconnect(reconnect().build().unwrap());
    let client = within("a connection", client.connect()).await.unwrap();
    let raw = json!({"kind": "raw", "text": text});
    let answer = within("an answer", client.call_tool(call("book", &raw, 1))).await;
    assert!(
        matches!(answer, Ok(CallToolResponse::Complete(result)) if result.is_error == Some(true))
    );
    client.close().await;
    log.line()
}

#[tokio::test]
async fn a_line_that_belongs_to_no_call_is_told_in_the_failure_of_a_call_that_waits() {
    for (text, reason) in [
        (
            "\u{1b}[31mno json at all",
            "it has 19 bytes and begins with: \\u{1b}[31mno json",
        ),
        (
            r#"{"level":"info","id":$ID,"text":"a log"}"#,
            "no json-rpc message",
        ),
        (
            r#"{"jsonrpc":"2.0","result":{"content":[]}}"#,
            "an answer without an id",
        ),
        (
            r#"{"jsonrpc":"2.0","error":{"code":-32700,"message":"parse error"}}"#,
            "parse error",
        ),
    ] {
        for (attempt, on_the_wire) in [(60 * SECOND, Some(SECOND)), (3 * SECOND, None)] {
            let line = skipped(text, attempt, on_the_wire).await;
            assert_eq!(line["class"], "timeout", "{line}");
            let said = line["error"].as_str().unwrap();
            assert!(said.contains(reason), "{text}: {said}");
        }
    }
}

/// A server that writes for ever holds nobody up: not the limit of a start, and not other tasks.
#[tokio::test]
async fn a_child_that_floods_its_stdout_does_not_hold_up_its_own_limit() {
    let flood = ChildProcess::new("sh")
        .args(["-c", "exec yes"])
        .start_timeout(SECOND);
    let ticks = tokio::spawn(async {
        let mut ticks = 0;
        loop {
            tokio::time::sleep(Duration::from_millis(1)).await;
            ticks += 1;
            if ticks == 100 {
                return;
            }
        }
    });
    let (failure, ticked) = tokio::join!(within("a failure", Client::connect(flood)), ticks);
    let chain = failure.unwrap_err().chain().to_string();
    assert!(chain.contains("not ready within 1s"), "{chain}");
    ticked.unwrap();
}
