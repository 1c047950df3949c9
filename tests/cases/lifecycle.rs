//! The cases of odd requests to a server, and of its shutdown, over real pipes.

use crate::served::{Bookshop, Child, Lines, Wire, assert_has, log_lines};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use tokio::{io::AsyncWriteExt, process::ChildStdin};

pub(crate) const HELLO: [&str; 2] = [
    r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"raw","version":"1"}}}"#,
    r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#,
];

pub(crate) async fn write(stdin: &mut ChildStdin, line: &[u8]) {
    stdin.write_all(line).await.unwrap();
    stdin.write_all(b"\n").await.unwrap();
}

#[tokio::test]
async fn case_113_a_request_is_answered_under_its_id_as_it_was_written() {
    let (mut child, mut stdin, stdout) = Child::start(&[], &[]);
    let mut stdout = Lines::read(stdout);
    let hello = HELLO[0].replace(r#""id":0"#, r#""id":"init-1""#);
    write(&mut stdin, hello.as_bytes()).await;
    write(&mut stdin, HELLO[1].as_bytes()).await;
    let ids = [
        r#""7""#,
        "0",
        "-1",
        "2.0",
        "1.5",
        "18446744073709551615",
        "null",
        "1",
    ];
    for id in ids {
        let params = r#"{"name":"get_author","arguments":{"title":"Dune"}}"#;
        let call =
            format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{params}}}"#);
        write(&mut stdin, call.as_bytes()).await;
        let begin = format!(r#"{{"jsonrpc":"2.0","id":{id},"#);
        let line = stdout.first(id, |line| line.starts_with(&begin)).await;
        let answer: Value = serde_json::from_str(&line).unwrap();
        if id == "null" {
            assert_eq!(answer["error"]["code"], -32600, "{line}");
        } else {
            assert_eq!(
                answer["result"]["content"][0]["text"], "Frank Herbert",
                "{id}"
            );
        }
    }
    let answers = stdout.so_far();
    assert_eq!(answers.len(), ids.len() + 1, "one each: {answers:#?}");
    assert!(answers[0].contains(r#""id":"init-1""#), "{answers:#?}");
    drop(stdin);
    assert_eq!(child.ended().await.code(), Some(0));
}

#[tokio::test]
async fn case_115_arguments_as_a_text_are_an_error_of_the_parameters_and_the_next_call_works() {
    for wire in [Wire::Stdio, Wire::Http] {
        let mut shop = Bookshop::open(wire, &[]).await;
        let odd = [
            r#"{"name":"get_author","arguments":"{\"title\":\"Dune\"}"}"#,
            r#"{"name":"get_author","arguments":["Dune"]}"#,
            r#"{"name":5}"#,
            r#"{"arguments":{}}"#,
            "null",
        ];
        for params in odd {
            let id = shop.send_text("tools/call", params).await;
            let done = shop.conclude(id).await;
            assert_eq!(done.error()["code"], -32602, "{params}");
            let wanted = json!({
                "outcome": "failed", "class": "invalid_input", "delivery": "not_sent",
                "error": done.error()["message"],
            });
            assert_has(&done.line, &wanted);
            let done = shop.call("get_author", json!({"title": "Dune"})).await;
            assert_eq!(done.text(), "Frank Herbert");
        }
        // One line for each request.
        shop.leave().await;
    }
}

#[tokio::test]
async fn case_117_a_bad_byte_or_a_bad_line_does_not_end_the_server() {
    let (mut child, mut stdin, stdout) = Child::start(&[], &[]);
    for line in HELLO {
        write(&mut stdin, line.as_bytes()).await;
    }
    let nested = format!("{}{}", "[".repeat(126), "]".repeat(126));
    let bad: [&[u8]; 10] = [
        b"\xff\xfe",
        b"{\"jsonrpc\":\"2.0\",\"id\":90,\"method\":\"tools/call\",\"params\":{\"name\":\"get_author\",\"arguments\":{\"title\":\"\xff\"}}}",
        b"garbage",
        b"",
        b"{",
        b"[]",
        b"null",
        b"{}",
        br#"[{"jsonrpc":"2.0","id":91,"method":"ping"}]"#,
        nested.as_bytes(),
    ];
    let call = r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"get_author","arguments":{"title":"Dune"}}}"#;
    for line in bad {
        write(&mut stdin, line).await;
    }
    write(&mut stdin, call.as_bytes()).await;
    drop(stdin);
    assert_eq!(child.ended().await.code(), Some(0));
    let answers = Lines::read(stdout).all().await;
    assert!(
        answers.iter().any(|line| line.contains("Frank Herbert")),
        "{answers:#?}"
    );
    // The call with a bad byte is refused under its id, and logged as the good one is.
    let lines = log_lines(&child.stderr.all().await);
    let mut ended: Vec<_> = lines
        .iter()
        .map(|line| (line["request_id"].as_u64(), line["outcome"].as_str()))
        .collect();
    ended.sort_unstable();
    assert_eq!(
        ended,
        [(Some(1), Some("success")), (Some(90), Some("failed"))]
    );
}

#[tokio::test]
async fn case_118_all_answers_and_lines_are_there_if_stdin_ends_with_the_last_request() {
    for calls in [1_u64, 2, 50, 500] {
        let (mut child, mut stdin, stdout) = Child::start(&[], &[]);
        let mut stdout = Lines::read(stdout);
        let mut requests = HELLO.join("\n");
        for id in 1..=calls {
            let call = json!({
                "jsonrpc": "2.0", "id": id, "method": "tools/call",
                "params": {"name": "get_author", "arguments": {"title": "Dune"}},
            });
            requests.push('\n');
            requests.push_str(&call.to_string());
        }
        write(&mut stdin, requests.as_bytes()).await;
        drop(stdin);
        assert_eq!(child.ended().await.code(), Some(0));
        let due: BTreeSet<u64> = (1..=calls).collect();
        let mut answered = BTreeSet::new();
        for line in stdout.all().await {
            let answer: Value = serde_json::from_str(&line).unwrap();
            if answer["id"] != 0 {
                assert_eq!(answer["result"]["content"][0]["text"], "Frank Herbert");
                assert!(
                    answered.insert(answer["id"].as_u64().unwrap()),
                    "twice: {line}"
                );
            }
        }
        assert_eq!(answered, due, "of {calls} calls");
        let mut logged = BTreeSet::new();
        for line in log_lines(&child.stderr.all().await) {
            assert_eq!(line["outcome"], "success");
            assert!(
                logged.insert(line["request_id"].as_u64().unwrap()),
                "twice: {line}"
            );
        }
        assert_eq!(logged, due, "of {calls} calls");
    }
}

#[tokio::test]
async fn case_118_a_call_that_runs_when_stdin_ends_is_answered_or_recorded_as_cancelled() {
    for (seconds, is_answered) in [(0.2, true), (600.0, false)] {
        let mut shop = Bookshop::open(Wire::Stdio, &["--attempt-timeout", "900"]).await;
        let id = shop.begin("sleep", json!({"seconds": seconds})).await;
        shop.close();
        let line = shop.line(id).await;
        if is_answered {
            assert_eq!(line["outcome"], "success");
            shop.answer(id).await;
        } else {
            assert_eq!(line["outcome"], "cancelled");
        }
        let (status, said) = shop.ended().await;
        assert_eq!(status.code(), Some(0));
        assert_eq!(said, [""; 0]);
    }
}

#[tokio::test]
async fn case_120_a_signal_in_the_middle_of_a_call_waits_for_its_answer_and_its_line() {
    for signal in ["TERM", "INT", "HUP"] {
        let mut shop = Bookshop::open(Wire::Stdio, &[]).await;
        let id = shop.begin("sleep", json!({"seconds": 2})).await;
        shop.signal(signal);
        let done = shop.conclude(id).await;
        assert_eq!(done.text(), "Slept for 2 s.");
        assert_eq!(done.line["outcome"], "success");
        let (status, said) = shop.ended().await;
        assert_eq!(status.code(), Some(0), "SIG{signal}");
        assert_eq!(said, [""; 0]);
    }
}
