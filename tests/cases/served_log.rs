//! The log of a server in another process.

use crate::{
    lifecycle::{HELLO, write},
    served::{Bookshop, Child, Lines, Sdk, Wire, log_lines, within},
};
use serde_json::{Value, json};
use tokio::{
    io::{AsyncRead, AsyncReadExt},
    process::ChildStdin,
};

/// Writes the handshake and these calls, which get the ids from 1 on, and closes stdin.
async fn call_all(mut stdin: ChildStdin, calls: impl IntoIterator<Item = (String, Value)>) {
    for line in HELLO {
        write(&mut stdin, line.as_bytes()).await;
    }
    for (id, (tool, arguments)) in (1..).zip(calls) {
        let params = json!({"name": tool, "arguments": arguments});
        let call = json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params});
        let call = call.to_string();
        within("stdin to take a line", write(&mut stdin, call.as_bytes())).await;
    }
}

/// The same call, many times.
fn many(count: usize, arguments: &Value) -> impl Iterator<Item = (String, Value)> {
    (0..count).map(move |_| ("get_author".to_owned(), arguments.clone()))
}

/// Fails unless each request, and the handshake, has one answer; the server may take its time.
async fn assert_answered(stdout: impl AsyncRead + Send + Unpin + 'static, count: u64) {
    let mut answered = Vec::new();
    for line in Lines::read(stdout).all().await {
        let answer: Value = serde_json::from_str(&line).unwrap();
        assert_ne!(answer["result"].is_object(), answer["error"].is_object());
        answered.push(answer["id"].as_u64().unwrap());
    }
    answered.sort_unstable();
    assert_eq!(answered, (0..=count).collect::<Vec<_>>());
}

#[tokio::test]
async fn case_134_each_call_has_one_line_of_valid_json_wherever_a_text_is_cut() {
    // What they are in UTF-8 and in JSON has one to six bytes.
    let signs = [
        "\u{e9}",
        "\u{2192}",
        "\u{1f600}",
        "\0",
        "\u{2028}",
        "\"",
        "\\",
        "\u{1b}",
        "\u{202e}",
    ];
    let mut calls = Vec::new();
    for sign in signs {
        for letters in 0..9 {
            for times in [200, 5_000, 70_000] {
                let title = format!("{}{}", "x".repeat(letters), sign.repeat(times));
                calls.push(("get_author".to_owned(), json!({"title": title})));
            }
        }
        let long = sign.repeat(50_000);
        let arguments = json!({"title": "Dune", long.clone(): {long.clone(): 1}});
        calls.push(("get_author".to_owned(), arguments.clone()));
        calls.push((long, arguments));
    }
    let count = calls.len() as u64;
    let (mut child, stdin, stdout) = Child::start(&[], &[]);
    tokio::join!(call_all(stdin, calls), assert_answered(stdout, count));
    assert_eq!(child.ended().await.code(), Some(0));
    let lines = child.stderr.all().await;
    let mut logged: Vec<_> = log_lines(&lines)
        .iter()
        .map(|line| line["request_id"].as_u64().unwrap())
        .collect();
    logged.sort_unstable();
    assert_eq!(logged, (1..=count).collect::<Vec<_>>());
    assert_eq!(lines.len(), logged.len(), "and nothing beside");
}

#[tokio::test]
async fn case_135_a_log_without_a_reader_delays_neither_answers_nor_the_end() {
    const CALLS: u32 = 300;
    let arguments = json!({"title": "Dune", "extra": "x".repeat(33_000)});
    let (mut child, stdin, stdout, mut stderr) = Child::start_unread(&[], &[]);
    tokio::join!(
        call_all(stdin, many(CALLS as usize, &arguments)),
        assert_answered(stdout, CALLS.into())
    );
    assert_eq!(child.ended().await.code(), Some(0));
    let mut unread = String::new();
    stderr.read_to_string(&mut unread).await.unwrap();
    let lines = unread.lines().count();
    assert!(lines < CALLS as usize, "{lines} lines: it was full");
}

#[tokio::test]
#[cfg(target_os = "linux")]
async fn case_135_a_log_on_a_full_device_delays_neither_answers_nor_the_end() {
    let full = std::fs::File::options()
        .write(true)
        .open("/dev/full")
        .unwrap();
    let name = Sdk::here().bookshop();
    let (mut child, stdin, stdout) = Child::spawn(name, &[], &[], full.into());
    let arguments = json!({"title": "Dune"});
    tokio::join!(
        call_all(stdin, many(300, &arguments)),
        assert_answered(stdout, 300)
    );
    assert_eq!(child.ended().await.code(), Some(0));
}

#[tokio::test]
async fn case_135_a_client_that_reads_its_answers_late_gets_all_of_them() {
    let (mut child, stdin, stdout) = Child::start(&[], &[]);
    call_all(stdin, many(3_000, &json!({"title": "Dune"}))).await;
    assert_answered(stdout, 3_000).await;
    assert_eq!(child.ended().await.code(), Some(0));
}

#[tokio::test]
async fn case_136_an_error_that_quotes_an_argument_is_masked_as_the_argument_is() {
    for wire in [Wire::Stdio, Wire::Http] {
        let mut shop = Bookshop::open(wire, &[]).await;
        let done = shop
            .call("get_author", json!({"title": "Bearer CANARY"}))
            .await;
        assert_eq!(done.result()["isError"], true);
        assert_eq!(done.line["arguments"]["title"], "Bearer [masked]");
        let error = done.line["error"].as_str().unwrap();
        assert!(error.contains("[masked]"), "{error}");
        assert!(!done.line.to_string().contains("CANARY"), "{}", done.line);
        shop.leave().await;
    }
}
