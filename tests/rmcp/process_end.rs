//! The process ends when `main` returns the result of `run`, even if the client keeps its pipes
//! open.

use crate::support::{Child, Lines, assert_has, log_lines};
use serde_json::{Value, json};
use tokio::{io::AsyncWriteExt, process::ChildStdin};

/// More answers than any pipe holds.
const CALLS: u64 = 60;

async fn write(stdin: &mut ChildStdin, messages: impl IntoIterator<Item = Value>) {
    for message in messages {
        let line = format!("{message}\n");
        stdin.write_all(line.as_bytes()).await.unwrap();
    }
}

fn hello() -> [Value; 2] {
    [
        json!({
            "jsonrpc": "2.0", "id": 0, "method": "initialize",
            "params": {
                "protocolVersion": "2025-11-25",
                "capabilities": {},
                "clientInfo": {"name": "raw", "version": "1"},
            },
        }),
        json!({"jsonrpc": "2.0", "method": "notifications/initialized"}),
    ]
}

fn call(id: u64, tool: &str) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": {"name": tool}})
}

async fn line_of(child: &mut Child, id: u64) {
    let wanted = move |line: &str| {
        line.starts_with('{') && log_lines(&[line.to_owned()])[0]["request_id"] == id
    };
    child.stderr.first("the line of a call", wanted).await;
}

#[tokio::test]
async fn a_fatal_failure_that_main_returns_ends_the_process_while_stdin_is_open() {
    let (mut child, mut stdin, stdout) = Child::start_example("minimal", &[], &[]);
    write(&mut stdin, hello()).await;
    write(&mut stdin, [call(1, "break")]).await;
    assert_eq!(child.ended().await.code(), Some(1));
    drop(stdin);
    let answers = Lines::read(stdout).all().await;
    assert_eq!(answers.len(), 2, "{answers:#?}");
    assert!(answers[1].contains("the clock is broken"), "{answers:#?}");
    let said = child.stderr.all().await;
    assert_eq!(said.last().unwrap(), "Error: the clock is broken");
    assert_eq!(log_lines(&said).len(), 1);
}

#[tokio::test]
async fn a_fatal_failure_that_main_returns_ends_the_process_even_if_stdout_has_no_reader() {
    let (mut child, mut stdin, stdout) = Child::start_example("minimal", &[], &[]);
    write(&mut stdin, hello()).await;
    write(&mut stdin, (1..=CALLS).map(|id| call(id, "echo"))).await;
    line_of(&mut child, CALLS).await;
    write(&mut stdin, [call(CALLS + 1, "break")]).await;
    assert_eq!(child.ended().await.code(), Some(1));
    drop((stdin, stdout));
    let said = child.stderr.all().await;
    assert_eq!(said.last().unwrap(), "Error: the clock is broken");
    assert_eq!(log_lines(&said).len() as u64, CALLS + 1, "one line each");
}

#[tokio::test]
async fn a_signal_ends_the_process_with_zero_whatever_the_client_keeps_open() {
    for signal in ["TERM", "INT", "HUP"] {
        let (mut child, mut stdin, stdout) = Child::start_example("minimal", &[], &[]);
        write(&mut stdin, hello()).await;
        write(&mut stdin, (1..=CALLS).map(|id| call(id, "echo"))).await;
        line_of(&mut child, CALLS).await;
        child.signal(signal);
        assert_eq!(child.ended().await.code(), Some(0), "SIG{signal}");
        drop((stdin, stdout));
        let said = child.stderr.all().await;
        assert_eq!(log_lines(&said).len(), said.len(), "{said:#?}");
        assert_eq!(said.len() as u64, CALLS, "one line each");
    }
}

#[tokio::test]
async fn a_signal_before_the_handshake_ends_the_process_with_zero() {
    let (mut child, mut stdin, stdout) = Child::start_example("minimal", &[], &[]);
    // The answer to a ping shows that `run` has begun.
    let ping = json!({"jsonrpc": "2.0", "id": 1, "method": "ping"});
    write(&mut stdin, [ping]).await;
    let mut stdout = Lines::read(stdout);
    stdout.first("an answer", |_| true).await;
    child.signal("TERM");
    assert_eq!(child.ended().await.code(), Some(0));
    assert_eq!(child.stderr.all().await, [""; 0]);
    drop(stdin);
}

#[tokio::test]
async fn the_end_of_stdin_ends_the_process_and_the_call_that_never_ends() {
    let (mut child, mut stdin, stdout) = Child::start_example("minimal", &[], &[]);
    write(&mut stdin, hello()).await;
    write(&mut stdin, [call(1, "wait")]).await;
    drop(stdin);
    assert_eq!(child.ended().await.code(), Some(0));
    assert_eq!(Lines::read(stdout).all().await.len(), 1);
    let said = child.stderr.all().await;
    assert_eq!(said.len(), 1, "{said:#?}");
    assert_has(&log_lines(&said)[0], &json!({"outcome": "cancelled"}));
}
