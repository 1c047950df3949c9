//! Malformed answers. Each ends its call on every transport.

use crate::support::{
    Ledger, Log, SECOND,
    answered::{
        ALL, Case,
        End::{Failed, FailedWith, Good, ToolError, Unreadable},
        HTTP, RESULT,
        Wire::Stdio,
        answer, assert_each, result,
    },
    call, reconnect, resilience, retry, within,
};
use mcp_resilience::rmcp::client::{ChildProcess, Client};
use rmcp::model::CallToolResponse;
use serde_json::{Value, json};
use std::time::Duration;

const PRETTY: &str = "{\n  \"jsonrpc\": \"2.0\",\n  \"id\": $ID,\n  \"result\": {\n    \"content\": [\n      \
    { \"type\": \"text\", \"text\": \"good\" }\n    ]\n  }\n}";
const ERROR: &str = r#""error":{"code":-32004,"message":"too many requests"}"#;

/// An answer with an error of this JSON.
fn error(error: &str) -> String {
    answer(&format!(r#""error":{error}"#))
}

#[rustfmt::skip]
fn cases() -> Vec<Case> {
    let good = answer(RESULT);
    vec![
        // Null members are absent.
        (answer(&format!(r#"{RESULT},"method":null"#)), ALL, Good("good")),
        (answer(&format!(r#"{RESULT},"error":false"#)), ALL, Good("good")),
        // Both, neither, twice.
        (r#"{"jsonrpc":"2.0","id":$ID}"#.to_owned(), ALL, Unreadable("neither a result nor an error")),
        (answer(r#""result":null,"error":null"#), ALL, Unreadable("neither a result nor an error")),
        (answer(&format!("{RESULT},{RESULT}")), ALL, Good("good")),
        (answer(&format!(r#"{RESULT},"result":{{"content":[]}}"#)), ALL, Unreadable("`result` twice")),
        // Errors of any form.
        (error(r#"{"code":-32004.0,"message":"slow down"}"#), ALL, FailedWith(-32004, "slow down")),
        (error(r#"{"code":"-32004","message":"slow down"}"#), ALL, Failed("slow down")),
        (error(r#"{"code":99999999999,"message":"slow down"}"#), ALL, Failed("slow down")),
        (error(r#"{"message":"slow down"}"#), ALL, Failed("slow down")),
        (error(r#"{"code":-32004,"message":{"de":"langsam"}}"#), ALL, Failed("langsam")),
        (error(r#"{"code":-32004}"#), ALL, Failed("gave no message")),
        (error(r#"{"code":-32004,"message":null}"#), ALL, Failed("gave no message")),
        (error(r#""slow down""#), ALL, Failed("slow down")),
        (error(r#"{"code":-32004,"detail":"slow down"}"#), ALL, Failed("slow down")),
        (error(r#"{"reason":"slow down"}"#), ALL, Failed("slow down")),
        (error(r#"{"error":{"code":-32004,"message":"slow down"}}"#), ALL, Failed("slow down")),
        // The version, the mark, the list, the id.
        (good.replace(r#""jsonrpc":"2.0","#, ""), ALL, Good("good")),
        (good.replace("2.0", "1.0"), ALL, Good("good")),
        (format!("\u{feff}{good}"), ALL, Good("good")),
        (format!("[{good}]"), ALL, Good("good")),
        (good.replace(r#""id":$ID,"#, ""), HTTP, Good("good")),
        (good.replace("$ID", "null"), HTTP, Good("good")),
        (good.replace("$ID", "987654"), HTTP, Unreadable("to another request")),
        // Bytes, broken JSON, size, depth.
        (good.replace("good", "go\"od"), ALL, Unreadable("not json")),
        (result(r#"{"content":[],"structuredContent":{"x":NaN}}"#), ALL, Unreadable("not json")),
        (good.replace("good", "$LONG"), ALL, Unreadable("longer than 16 MiB")),
        (result("$DEEP"), ALL, Unreadable("not json")),
        (good.replace("}]}", ""), ALL, Unreadable("not json")),
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
        // JSON logs with an id.
        (format!("{}\n{good}", r#"{"level":"error","msg":"cache miss","error":"disk full","id":$ID}"#), &[Stdio], Good("good")),
        (format!("{}\n{good}", r#"{"level":"info","msg":"done","result":"ok","id":$ID}"#), &[Stdio], Good("good")),
        // An answer that names the method.
        (answer(&format!(r#""method":"tools/call",{RESULT}"#)), ALL, Good("good")),
        (answer(&format!(r#""method":"tools/call",{ERROR}"#)), ALL, Failed("too many requests")),
        // The id in the middle, or written another way.
        (r#"{"result":{"content":[{"text":"a "b" c"d"}]},"id":$ID,"jsonrpc":"2.0"}"#.to_owned(), ALL, Unreadable("not json")),
        (r#"{"jsonrpc":"2.0","\u0069d":$ID,"result":{"x":NaN}}"#.to_owned(), ALL, Unreadable("not json")),
        (good.replace("$ID", "[$ID]"), ALL, Good("good")),
        (good.replace("$ID", r#"{"value":$ID}"#), ALL, Good("good")),
        // The same member twice, further inside.
        (result(r#"{"content":[],"content":[{"type":"text","text":"good"}]}"#), ALL, Good("good")),
        (result(r#"{"content":[{"type":"text","text":"bad","text":"good"}]}"#), ALL, Good("good")),
        // Results without anything.
        (result("{}"), ALL, Unreadable("result is empty")),
        (result(r#"{"_meta":{}}"#), ALL, Unreadable("result is empty")),
        (result(r#"{"resultType":"complete"}"#), ALL, Unreadable("result is empty")),
        (result(r#"{"isError":false}"#), ALL, Unreadable("result is empty")),
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
        (result(r#"{"content":{"type":"text","text":"good"}}"#), ALL, Good("good")),
        (result(r#"{"content":7}"#), ALL, Unreadable("not a list of blocks")),
        (result(r#"{"content":[{"type":"text","text":"bad"}],"isError":1}"#), ALL, ToolError),
        (result(r#"{"content":[{"type":"text","text":"bad"}],"is_error":true}"#), ALL, ToolError),
        (result(r#"{"content":[{"type":"text","text":"bad"}],"IsError":"True"}"#), ALL, ToolError),
        (result(r#"{"content":[{"type":"text","text":"bad"}],"isError":false,"is-error":1}"#), ALL, ToolError),
        (result(r#"{"content":[{"type":"text","text":"good"}],"is_error":"unlikely"}"#), ALL, Good("good")),
        (result(r#"{"content":[{"type":"text","text":"bad"}],"isError":"perhaps"}"#), ALL, Unreadable("`isError`")),
        (result(r#"{"content":[{"type":"text","text":"good"}],"_meta":[]}"#), ALL, Good("good")),
        (result(r#"{"content":[{"type":"text","text":"good","annotations":7}]}"#), ALL, Good("good")),
    ]
}

#[rustfmt::skip]
fn odd_ids_and_numbers() -> Vec<Case> {
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
fn written_otherwise() -> Vec<Case> {
    let good = answer(RESULT);
    vec![
        // An answer over several lines, or as another language writes it.
        (PRETTY.to_owned(), ALL, Good("good")),
        (PRETTY.replace('\n', "\r\n"), ALL, Good("good")),
        (format!("{{\"a\":\n{good}"), &[Stdio], Good("good")),
        (good.replace('"', "'"), ALL, Unreadable("not json")),
        (good.replace("\"id\"", "\"ID\""), ALL, Good("good")),
        (good.replace("good", "good\\ud83d"), ALL, Good("good\u{fffd}")),
        (result(r#"{"content":["good"]}"#), ALL, Good("good")),
        // Blanks that are no JSON.
        (result("\u{a0}{\"content\":[]}"), ALL, Unreadable("not json")),
        (result("\u{b}{\"content\":[]}"), ALL, Unreadable("not json")),
        (format!("\u{c}{good}\u{a0}"), ALL, Good("good")),
        // Characters that are not line ends.
        (format!("[{good}]$STAY"), &[Stdio], Good("good")),
        (format!("{good} and more$STAY"), &[Stdio], Good("good")),
        (format!("{good}$STAY"), &[Stdio], Good("good")),
        (format!("{good}\r$STAY"), &[Stdio], Good("good")),
    ]
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_odd_answer_ends_its_call_at_once_and_the_connection_is_kept() {
    let cases = cases().into_iter().chain(odd_ids_and_numbers());
    assert_each("look", cases.chain(written_otherwise())).await;
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
            "not a json-rpc message",
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

/// A server that writes for ever delays neither the dial timeout nor other tasks.
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
