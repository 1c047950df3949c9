//! The messages that a server in this process reads and writes with `run`.

use crate::support::{Desk, Log, Run, Traced, ok, preset, within};
use mcp_resilience::rmcp::{LineTransport, Resilient};
use serde_json::{Value, json};
use tokio::io::{
    AsyncBufReadExt, AsyncWriteExt, BufReader, DuplexStream, Lines, ReadHalf, WriteHalf,
};

/// A client that reads and writes lines as they are.
struct Client {
    to: WriteHalf<DuplexStream>,
    from: Lines<BufReader<ReadHalf<DuplexStream>>>,
}

fn desk() -> Desk {
    Desk::new(|run: Run| async move {
        if run.params.name == "endless" {
            std::future::pending::<()>().await;
        }
        ok("fine")
    })
}

impl Client {
    fn over(near: DuplexStream) -> Self {
        let (from, to) = tokio::io::split(near);
        Self {
            to,
            from: BufReader::new(from).lines(),
        }
    }

    /// One that has begun a session.
    async fn open(log: &Log) -> Self {
        let (near, far) = tokio::io::duplex(1 << 16);
        tokio::spawn(Resilient::with_preset(desk(), &preset(log)).run(far));
        let mut client = Self::over(near);
        client.initialize().await;
        client
    }

    async fn initialize(&mut self) {
        let params = r#"{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"raw","version":"1"}}"#;
        self.write(&format!(
            r#"{{"jsonrpc":"2.0","id":0,"method":"initialize","params":{params}}}"#
        ))
        .await;
        assert!(self.next().await.contains(r#""protocolVersion""#));
        self.write(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#)
            .await;
    }

    async fn write(&mut self, line: &str) {
        let line = format!("{line}\n");
        let writing = self.to.write_all(line.as_bytes());
        within("room for a line", writing).await.unwrap();
    }

    async fn next(&mut self) -> String {
        let line = within("a line", self.from.next_line()).await.unwrap();
        line.expect("a line")
    }

    async fn call(&mut self, id: &str) -> String {
        self.write(&format!(
            r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{{"name":"look"}}}}"#
        ))
        .await;
        self.next().await
    }
}

#[tokio::test]
async fn an_id_comes_back_as_it_was_written() {
    for (id, is_run) in [
        ("7", true),
        (r#""7""#, true),
        (r#""a b""#, true),
        ("1.0", true),
        ("1.5", true),
        ("1e2", true),
        ("-0", true),
        ("1e400", true),
        ("9223372036854775807", true),
        ("9223372036854775808", true),
        ("123456789012345678901234567890", true),
        (r#""\ud800""#, true),
        ("null", false),
        ("true", false),
        ("[1]", false),
        (r#"{"a":1}"#, false),
    ] {
        let log = Log::default();
        let mut client = Client::open(&log).await;
        let answer = client.call(id).await;
        let begin = format!(r#"{{"jsonrpc":"2.0","id":{id},"#);
        assert!(answer.starts_with(&begin), "{id}: {answer}");
        assert_eq!(answer.contains(r#""result""#), is_run, "{id}: {answer}");
        let code = answer.contains(r#""code":-32600"#);
        assert_eq!(code, !is_run, "{id}: {answer}");
        let line = log.only();
        let outcome = if is_run { "success" } else { "failed" };
        assert_eq!(line["outcome"], outcome, "{id}");
        // Nothing is left of it.
        assert!(
            client
                .call("8")
                .await
                .starts_with(r#"{"jsonrpc":"2.0","id":8,"#)
        );
    }
}

#[tokio::test]
async fn a_call_is_cancelled_under_an_id_of_any_form() {
    for id in ["5", "5.0", "5.5", r#""five""#, "18446744073709551616"] {
        let log = Log::default();
        let mut client = Client::open(&log).await;
        client
            .write(&format!(
                r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{{"name":"endless"}}}}"#
            ))
            .await;
        client
            .write(&format!(
                r#"{{"jsonrpc":"2.0","method":"notifications/cancelled","params":{{"requestId":{id}}}}}"#
            ))
            .await;
        let cancelled = async {
            while log.all().is_empty() {
                tokio::task::yield_now().await;
            }
        };
        within("the line of the call", cancelled).await;
        assert_eq!(log.only()["outcome"], "cancelled", "{id}");
    }
}

#[tokio::test]
async fn input_without_an_id_that_is_not_a_message_is_logged_once_and_without_secrets() {
    let traced = Traced::begin();
    let log = Log::default();
    let mut client = Client::open(&log).await;
    for line in [
        "INFO starting\u{1b}[31m password=hunter22-canary",
        "{} {} {}",
        r#"{"jsonrpc":"2.0","method":"tools/call","params":{"name":"look"}}"#,
        r#"{"jsonrpc":"2.0","id":5"#,
    ] {
        client.write(line).await;
    }
    let answers = [client.next().await, client.next().await];
    assert!(
        answers[0].starts_with(r#"{"jsonrpc":"2.0","id":null,"#),
        "{answers:?}"
    );
    assert!(
        answers[1].starts_with(r#"{"jsonrpc":"2.0","id":5,"#),
        "{answers:?}"
    );
    client.call("6").await;
    assert_eq!(log.all().len(), 1);
    let events = traced.end();
    let told = events
        .iter()
        .filter(|event| event["fields"]["message"] == "skipped what the client wrote");
    let told: Vec<_> = told
        .map(|event| event["fields"]["error"].to_string())
        .collect();
    assert_eq!(told.len(), 3, "{told:#?}");
    // Words of one letter may be masked, as values of calls of other tests in this process.
    for (told, words) in told
        .iter()
        .zip(["INFO starting", "json-rpc message", "tools/call"])
    {
        assert!(told.contains(words), "{told}");
    }
    let all = Value::from(told).to_string();
    assert!(!all.contains("canary") && !all.contains('\u{1b}'), "{all}");
}

#[tokio::test]
async fn an_initialize_that_cannot_be_read_is_refused_with_what_is_wrong() {
    let log = Log::default();
    let (near, far) = tokio::io::duplex(1 << 16);
    tokio::spawn(Resilient::with_preset(desk(), &preset(&log)).run(far));
    let mut client = Client::over(near);
    for (params, problem) in [
        (
            r#"{"capabilities":{}}"#,
            "initialize: the parameters cannot be read: missing field `protocolVersion`",
        ),
        (
            "[]",
            "initialize: the parameters must be an object, not an array",
        ),
    ] {
        client
            .write(&format!(
                r#"{{"jsonrpc":"2.0","id":1,"method":"initialize","params":{params}}}"#
            ))
            .await;
        let answer: Value = serde_json::from_str(&client.next().await).unwrap();
        assert_eq!(answer["error"], json!({"code": -32602, "message": problem}));
        assert_eq!(answer["id"], 1);
    }
    client.initialize().await;
    client.call("2").await;
    assert_eq!(log.all().len(), 1);
}

#[tokio::test]
async fn any_two_streams_can_be_read_in_the_same_way() {
    let log = Log::default();
    let server = Resilient::with_preset(desk(), &preset(&log));
    let ((near, to), (from, far)) = (tokio::io::simplex(1 << 16), tokio::io::simplex(1 << 16));
    tokio::spawn(server.run(LineTransport::new(near, far)));
    let mut to = to;
    to.write_all(b"[{\"id\":1,\"method\":\"ping\"}]\n")
        .await
        .unwrap();
    let mut from = BufReader::new(from).lines();
    let answer = within("an answer", from.next_line()).await.unwrap();
    assert_eq!(
        answer.as_deref(),
        Some(r#"{"jsonrpc":"2.0","id":1,"result":{}}"#)
    );
}

#[tokio::test]
async fn a_last_line_without_its_end_is_read_if_it_is_complete() {
    for (line, is_answered) in [
        (r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#, true),
        (r#"{"jsonrpc":"2.0","id":1,"method":"ping""#, false),
    ] {
        let log = Log::default();
        let mut client = Client::open(&log).await;
        client.to.write_all(line.as_bytes()).await.unwrap();
        client.to.shutdown().await.unwrap();
        let answer = within("the end", client.from.next_line()).await.unwrap();
        assert_eq!(answer.is_some(), is_answered, "{line}: {answer:?}");
    }
}
