//! The cases of a server on rmcp, seen from its client's end of the wire.

use crate::served::{
    Bookshop, Child, Desk, Log, Raw, Wire, call, connect, log_lines, ok, preset, within,
};
use mcp_resilience::{
    Failure,
    rmcp::{AnyError, Resilient},
};
use rmcp::{
    ErrorData,
    model::{CallToolResult, ErrorCode},
};
use serde_json::{Value, json};
use std::{collections::BTreeMap, time::Duration};
use tokio::{
    io::{AsyncBufReadExt, AsyncWriteExt, BufReader},
    process::ChildStdin,
};

/// One call of the only tool of this desk, in raw JSON-RPC: its answer, and its line.
async fn answer(desk: Desk) -> (Value, Value, usize) {
    let (log, attempts) = (Log::default(), desk.attempts());
    let mut client = Raw::open(Resilient::with_preset(desk, &preset(&log)));
    client.initialize().await;
    let params = json!({"name": "tool", "arguments": {}});
    let answer = client.request("tools/call", params).await;
    // The service stays usable.
    assert!(client.request("ping", json!({})).await["result"].is_object());
    (answer, log.only(), attempts.so_far().len())
}

#[tokio::test(start_paused = true)]
async fn case_007_a_result_without_a_flag_is_a_success_and_gets_none() {
    let said = json!({"content": [{"type": "text", "text": "fine"}]});
    let result: CallToolResult = serde_json::from_value(said.clone()).unwrap();
    assert_eq!(result.is_error, None);
    let (answer, line, attempts) = answer(Desk::new(move |_| {
        let result = result.clone();
        async { Ok(result.into()) }
    }))
    .await;
    assert_eq!(answer["result"]["content"], said["content"]);
    assert_eq!(answer["result"].get("isError"), None, "{answer}");
    assert_eq!(line["outcome"], "success");
    assert_eq!(line["is_error"], false);
    assert_eq!(attempts, 1);
}

#[tokio::test(start_paused = true)]
async fn case_010_an_error_of_the_protocol_has_its_code_message_and_data_on_the_wire() {
    for code in [-32602, -32601, -32603, -32000, 4711] {
        let said = ErrorData::new(
            ErrorCode(code),
            "Unknown tool: no_such_tool",
            Some(json!({"known": ["a"]})),
        );
        let thrown = said.clone();
        let (answer, line, attempts) = answer(Desk::new(move |_| {
            let thrown = thrown.clone();
            async { Err(thrown) }
        }))
        .await;
        assert_eq!(answer["error"], serde_json::to_value(&said).unwrap());
        assert_eq!(line["outcome"], "failed");
        assert_eq!(attempts, 1);
    }
}

#[tokio::test(start_paused = true)]
async fn case_012_a_result_that_cannot_be_written_as_json_leaves_the_connection_open() {
    let (answer, line, attempts) = answer(Desk::new(|_| async {
        let rows = BTreeMap::from([((1, 2), "x")]);
        let written = serde_json::to_value(rows).map_err(AnyError::from)?;
        Ok(CallToolResult::structured(written).into())
    }))
    .await;
    assert_eq!(answer["result"]["isError"], true, "{answer}");
    assert_eq!(line["outcome"], "failed");
    let error = line["error"].as_str().unwrap();
    assert!(error.contains("key must be a string"), "{error}");
    assert_eq!(attempts, 1, "the tool has run");
}

#[tokio::test(start_paused = true)]
async fn case_013_a_panic_in_a_handler_is_answered_on_the_wire() {
    for is_late in [false, true] {
        let (answer, line, _) = answer(Desk::new(move |_| async move {
            if is_late {
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
            panic!("index out of range")
        }))
        .await;
        assert_eq!(answer["result"]["isError"], true, "{answer}");
        assert_eq!(line["class"], "crash");
    }
}

#[tokio::test]
async fn case_061_a_client_that_closes_the_pipe_before_the_answer_costs_no_panic() {
    let messages = [
        json!({
            "jsonrpc": "2.0", "id": 0, "method": "initialize",
            "params": {
                "protocolVersion": "2025-11-25",
                "capabilities": {},
                "clientInfo": {"name": "hasty", "version": "1"},
            },
        }),
        json!({"jsonrpc": "2.0", "method": "notifications/initialized"}),
        json!({
            "jsonrpc": "2.0", "id": 1, "method": "tools/call",
            "params": {"name": "sleep", "arguments": {"seconds": 0.3}},
        }),
    ];
    let answered = |line: &str| line.contains(r#""result""#);
    for reads_the_first in [false, true] {
        let (mut child, mut stdin, stdout) = Child::start(&[], &[]);
        let mut stdout = BufReader::new(stdout).lines();
        let mut messages = messages.iter();
        if reads_the_first {
            write(&mut stdin, messages.next().unwrap()).await;
            let answer = within("an answer", stdout.next_line()).await.unwrap();
            assert!(answered(&answer.unwrap()));
        }
        // No further answer is read. stdin is still open while it is written.
        drop(stdout);
        for message in messages {
            write(&mut stdin, message).await;
        }
        if reads_the_first {
            let wanted = |line: &str| line.contains(r#""request_id":1"#);
            child.stderr.first("the line of the call", wanted).await;
            drop(stdin);
        }
        assert_eq!(child.ended().await.code(), Some(0), "a normal end");
        let lines = child.stderr.all().await;
        assert_eq!(log_lines(&lines).len(), lines.len(), "{lines:#?}");
    }
}

async fn write(stdin: &mut ChildStdin, message: &Value) {
    // It may be gone already.
    let _ = stdin.write_all(format!("{message}\n").as_bytes()).await;
}

#[tokio::test]
async fn case_071_stdout_carries_the_protocol_alone_and_the_log_goes_to_stderr() {
    // All output on stdout is checked to be JSON-RPC.
    let mut shop = Bookshop::open(Wire::Stdio, &[]).await;
    let dune = json!({"title": "Dune"});
    let nothing = json!({"title": "Nothing"});
    let good = shop.call("get_author", dune).await;
    assert_eq!(good.text(), "Frank Herbert");
    let flagged = shop.call("get_author", nothing.clone()).await;
    assert_eq!(flagged.result()["isError"], true);
    let crashed = shop.call("get_author_unchecked", nothing).await;
    assert_eq!(crashed.line["level"], "ERROR");
    shop.call("recommend", json!({})).await;
    // And stderr the log alone, a line for each call.
    shop.leave().await;
}

#[tokio::test]
async fn case_081_numbers_are_neither_rounded_nor_invented_on_the_way() {
    let mut shop = Bookshop::open(Wire::Stdio, &[]).await;
    let digits = r#"{"title":"Dune","extra":[9007199254740993,18446744073709551615,-9223372036854775808,1.0]}"#;
    let params = format!(r#"{{"name":"get_author","arguments":{digits}}}"#);
    let id = shop.send_text("tools/call", &params).await;
    let done = shop.conclude(id).await;
    assert_eq!(done.text(), "Frank Herbert");
    let line = shop.line_text(id);
    assert!(
        line.contains("[9007199254740993,18446744073709551615,-9223372036854775808,1.0]"),
        "{line}"
    );
    // A number out of range is refused before a tool runs.
    let params = r#"{"name":"get_author","arguments":{"title":"Dune","extra":1e400}}"#;
    let id = shop.send_text("tools/call", params).await;
    shop.expect_refused(id, "`arguments` cannot be read: ")
        .await;
    shop.leave().await;

    let result = json!({"id": 1_915_883_588_174_806_058_u64});
    let (answer, _, _) = answer(Desk::new({
        let result = result.clone();
        move |_| {
            let result = CallToolResult::structured(result.clone());
            async { Ok(result.into()) }
        }
    }))
    .await;
    assert_eq!(answer["result"]["structuredContent"], result);
}

#[tokio::test]
async fn case_083_half_of_a_surrogate_pair_is_refused_before_a_tool_runs_and_harms_nothing() {
    let mut shop = Bookshop::open(Wire::Stdio, &[]).await;
    for half in [r#""\ud83d""#, r#""\ude00""#, r#"{"\ud83d":"x"}"#] {
        let arguments = format!(r#"{{"title":"Dune","extra":{half}}}"#);
        let params = format!(r#"{{"name":"get_author","arguments":{arguments}}}"#);
        let id = shop.send_text("tools/call", &params).await;
        shop.expect_refused(id, "`arguments` cannot be read: ")
            .await;
    }
    let done = shop.call("get_author", json!({"title": "Dune"})).await;
    assert_eq!(done.text(), "Frank Herbert");
    shop.leave().await;
}

#[tokio::test]
async fn case_090_a_cancellation_that_races_with_the_answer_brings_one_answer_at_most() {
    const CALLS: u64 = 300;
    let log = Log::default();
    let desk = Desk::new(|run| async move {
        for _ in 0..run.number % 7 {
            tokio::task::yield_now().await;
        }
        ok("fine")
    });
    let mut client = Raw::open(Resilient::with_preset(desk, &preset(&log)));
    client.initialize().await;
    let mut ids = Vec::new();
    for number in 0..CALLS {
        let params = json!({"name": "tool", "arguments": {}});
        let id = client.begin("tools/call", params).await;
        for _ in 0..number % 5 {
            tokio::task::yield_now().await;
        }
        let cancelled = json!({"requestId": id, "reason": "changed my mind"});
        client.notify("notifications/cancelled", cancelled).await;
        ids.push(id);
    }
    let last = client.begin("ping", json!({})).await;
    let mut answered = Vec::new();
    loop {
        let message = client.next().await.expect("the server goes on");
        if message["id"] == last {
            break;
        }
        answered.push(message["id"].as_u64().unwrap());
    }
    let count = answered.len();
    answered.sort_unstable();
    answered.dedup();
    assert_eq!(answered.len(), count, "no call is answered twice");
    assert!(answered.iter().all(|id| ids.contains(id)));
    // Every call that was begun has one line.
    tokio::time::sleep(Duration::from_millis(50)).await;
    let lines = log.all();
    let mut begun: Vec<_> = lines
        .iter()
        .map(|line| line["request_id"].as_u64())
        .collect();
    let lines = begun.len();
    begun.sort_unstable();
    begun.dedup();
    assert_eq!(begun.len(), lines, "nor has one two lines");
    assert!(lines >= count);
}

#[tokio::test(start_paused = true)]
async fn case_092_a_call_that_is_cancelled_within_the_server_is_answered() {
    let (answer, line, attempts) = answer(Desk::new(|_| async {
        Err(Failure::cancelled("the host stopped it").into())
    }))
    .await;
    assert!(answer["error"]["code"].is_i64(), "{answer}");
    assert_eq!(line["class"], "cancelled");
    assert_eq!(attempts, 1);

    let log = Log::default();
    let desk = Desk::new(|_| async {
        let task = tokio::spawn(std::future::pending::<()>());
        task.abort();
        task.await.map_err(AnyError::from)?;
        ok("never")
    });
    let client = connect(Resilient::with_preset(desk, &preset(&log)), ()).await;
    let result = client.call_tool(call("tool")).await.unwrap();
    assert_eq!(result.is_error, Some(true));
}
