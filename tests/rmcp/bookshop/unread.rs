//! If the server's output has no reader, neither a call nor the shutdown waits for it.

use crate::support::{Child, HttpWire, Lines, log_lines, within};
use serde_json::{Value, json};
use tokio::{
    io::{AsyncBufReadExt, AsyncRead, AsyncReadExt, AsyncWriteExt, BufReader},
    process::ChildStdin,
};

/// How many calls it takes to fill any pipe.
const CALLS: u64 = 100;

const REASON: &str = "the shelf is gone, no call can succeed any more";

fn initialize() -> Value {
    json!({
        "jsonrpc": "2.0", "id": 0, "method": "initialize",
        "params": {
            "protocolVersion": "2025-11-25",
            "capabilities": {},
            "clientInfo": {"name": "deaf", "version": "1"},
        },
    })
}

fn call(id: u64, tool: &str, arguments: &Value) -> Value {
    json!({
        "jsonrpc": "2.0", "id": id, "method": "tools/call",
        "params": {"name": tool, "arguments": arguments},
    })
}

/// A call whose answer and line are long.
fn long(id: u64) -> Value {
    let title = format!("Book {id} of {}", "a long row of books, ".repeat(100));
    call(id, "get_author_strict", &json!({"title": title}))
}

async fn write(stdin: &mut ChildStdin, messages: impl IntoIterator<Item = Value>) {
    for message in messages {
        let line = format!("{message}\n");
        let writing = stdin.write_all(line.as_bytes());
        within("stdin to take a line", writing).await.unwrap();
    }
}

/// The handshake, and calls enough.
fn many() -> impl Iterator<Item = Value> {
    let initialized = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
    [initialize(), initialized]
        .into_iter()
        .chain((1..=CALLS).map(long))
}

/// Fails unless some of what was written found no room.
async fn assert_was_full(mut pipe: impl AsyncRead + Unpin) {
    let mut unread = String::new();
    pipe.read_to_string(&mut unread).await.unwrap();
    let lines = unread.matches('\n').count() as u64;
    assert!(lines > 0 && lines < CALLS, "{lines} lines");
}

async fn answer(stdout: &mut Lines, id: u64) -> Value {
    let read = |line: &str| serde_json::from_str::<Value>(line).unwrap();
    let what = format!("answer to {id}");
    let line = stdout.first(&what, |line| read(line)["id"] == id).await;
    read(&line)
}

#[tokio::test]
async fn a_log_without_a_reader_delays_neither_calls_nor_the_end() {
    let (mut child, mut stdin, stdout, stderr) = Child::start_unread(&[], &[]);
    let mut stdout = Lines::read(stdout);
    write(&mut stdin, many()).await;
    for id in 1..=CALLS {
        assert!(answer(&mut stdout, id).await["error"].is_object());
    }
    // A panic would be printed there too.
    let panics = call(CALLS + 1, "recommend", &json!({}));
    write(&mut stdin, [panics]).await;
    let answered = answer(&mut stdout, CALLS + 1).await;
    assert_eq!(answered["result"]["isError"], true);

    let shelves = call(CALLS + 2, "shelve", &json!({}));
    write(&mut stdin, [shelves]).await;
    let answered = answer(&mut stdout, CALLS + 2).await;
    assert_eq!(answered["error"]["message"], REASON);
    assert_eq!(child.ended().await.code(), Some(1));
    assert_was_full(stderr).await;
    drop(stdin);
}

#[tokio::test]
async fn answers_without_a_reader_delay_neither_other_calls_nor_the_end() {
    let (mut child, mut stdin, stdout) = Child::start(&[], &[]);
    write(&mut stdin, many()).await;
    // They are made, and leave their lines, though they cannot leave themselves.
    let is_last = |line: &str| log_lines(&[line.to_owned()])[0]["request_id"] == CALLS;
    child.stderr.first("last line", is_last).await;

    let shelves = call(CALLS + 1, "shelve", &json!({}));
    write(&mut stdin, [shelves]).await;
    assert_eq!(child.ended().await.code(), Some(1));
    let mut said = child.stderr.all().await;
    assert_eq!(said.pop(), Some(format!("Error: {REASON}")));
    assert_eq!(log_lines(&said).len() as u64, CALLS + 1, "one line each");
    assert_was_full(stdout).await;
    drop(stdin);
}

#[tokio::test]
async fn over_http_a_log_without_a_reader_does_not_delay_the_end() {
    let (mut child, stdin, _stdout, stderr) = Child::start_unread(&["--http", "127.0.0.1:0"], &[]);
    let mut stderr = BufReader::new(stderr);
    let mut first = String::new();
    within("a line", stderr.read_line(&mut first))
        .await
        .unwrap();
    let url = first.trim_end().trim_start_matches("listening on ");
    let mut http = HttpWire::new(url);
    http.open(initialize().to_string()).await;
    let initialized = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
    http.post(initialized.to_string()).await;
    for id in 1..=CALLS {
        let posted = within("an answer", http.post(long(id).to_string())).await;
        assert_eq!(posted.messages.len(), 1, "{posted:?}");
    }

    child.signal("INT");
    assert_eq!(child.ended().await.code(), Some(0));
    assert_was_full(stderr).await;
    drop(stdin);
}
