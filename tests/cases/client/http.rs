//! Malformed HTTP responses and event streams.

use super::connect_within;
use crate::peer::{
    Log, Scripted,
    answered::{Case, End::Unreadable, HTTP, Wire::Json, assert_each},
    scripted::{
        BodyEnd::{self, BreaksOff, InOrder, Never},
        Seen, events, response,
    },
    within,
};
use axum::{body::Body, response::Response};
use mcp_resilience::rmcp::client::Http;
use rmcp::model::{CallToolRequestParams, CallToolResponse};
use serde_json::{Value, json};

const JSON: &str = "application/json";
const EVENTS: &str = "text/event-stream";

/// One call that gets this response: its result, its line, and how many calls the server saw.
async fn called(
    tool: &'static str,
    seconds: u32,
    respond: impl Fn(&Seen) -> Response + Send + Sync + 'static,
) -> (Value, Value, usize) {
    let server =
        Scripted::start(move |seen, _| (seen.method() == "tools/call").then(|| respond(seen)));
    let (server, log) = (server.await, Log::default());
    let client = connect_within(Http::new(&*server.url), &log, seconds).await;
    let made = client.call_tool(CallToolRequestParams::new(tool));
    let answer = within("an answer", made).await.unwrap();
    let CallToolResponse::Complete(result) = answer else {
        panic!("{answer:?}");
    };
    (json!(result), log.line(), server.count("tools/call"))
}

fn good(seen: &Seen) -> String {
    let result = json!({"content": [{"type": "text", "text": "good"}]});
    json!({"jsonrpc": "2.0", "id": seen.message["id"], "result": result}).to_string()
}

#[tokio::test]
async fn case_129_events_that_are_no_messages_are_skipped_before_every_answer() {
    let noise =
        "event: ping\ndata: 2026-01-01\n\ndata: hello\n\n: a comment\n\nwhat: is this\n\nid: \n\n";
    let server = Scripted::start(move |seen, _| {
        let id = seen.message.get("id")?;
        let result = match seen.method() {
            "initialize" => json!({
                "protocolVersion": "2025-11-25",
                "capabilities": {"tools": {}},
                "serverInfo": {"name": "scripted", "version": "1"},
            }),
            "tools/list" => json!({"tools": [{"name": "book", "inputSchema": {"type": "object"}}]}),
            _ => json!({"content": [{"type": "text", "text": "fine"}]}),
        };
        let answer = json!({"jsonrpc": "2.0", "id": id, "result": result});
        let body = format!("{noise}event: message\ndata: {answer}\n\n");
        Some(events(Body::from(body)))
    });
    let server = server.await;
    let client = connect_within(Http::new(&*server.url), &Log::default(), 60).await;
    assert_eq!(client.tools().unwrap().len(), 1);
    let made = client.call_tool(CallToolRequestParams::new("book"));
    let CallToolResponse::Complete(result) = within("an answer", made).await.unwrap() else {
        panic!("an answer of another kind");
    };
    assert_eq!(json!(result)["content"][0]["text"], "fine");
}

#[tokio::test]
async fn case_131_an_answer_in_an_event_without_an_end_is_the_answer() {
    for end in [InOrder, BreaksOff, Never] {
        for tail in ["", "\n"] {
            let respond = move |seen: &Seen| {
                response(200, EVENTS, format!("data: {}{tail}", good(seen)), end)
            };
            // No limit ends such a call in a test that passes.
            let (result, line, calls) = called("look", 300, respond).await;
            assert_eq!(result["content"][0]["text"], "good", "{end:?}: {line}");
            assert_eq!(calls, 1, "{end:?} {tail:?}");
        }
    }
}

#[tokio::test]
async fn case_131_half_of_an_answer_without_an_end_ends_the_call_and_is_not_believed() {
    let half = |end: BodyEnd| {
        move |seen: &Seen| {
            let answer = good(seen);
            let half = &answer[..answer.len() / 2];
            response(200, EVENTS, format!("data: {half}\n"), end)
        }
    };
    for (end, class) in [(BreaksOff, "connection"), (Never, "timeout")] {
        let seconds = if class == "timeout" { 3 } else { 300 };
        let (result, line, calls) = called("book", seconds, half(end)).await;
        assert_eq!(result["isError"], true, "{end:?}: {result}");
        assert_eq!(line["class"], class, "{line}");
        assert_eq!(line["delivery"], "unknown", "{line}");
        assert!(calls <= 1, "it may have run: {calls} calls");
    }
}

#[tokio::test]
async fn case_132_a_body_that_is_not_a_message_ends_the_call_at_once_and_nothing_is_repeated() {
    let change = r#"{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}"#;
    let cases: [Case; 6] = [
        (
            "{}".to_owned(),
            HTTP,
            Unreadable("neither a result nor an error"),
        ),
        (String::new(), &[Json], Unreadable("it is empty")),
        ("[]".to_owned(), &[Json], Unreadable("no answer in it")),
        (
            r#""good""#.to_owned(),
            &[Json],
            Unreadable("not a json-rpc message"),
        ),
        (
            "fine".to_owned(),
            &[Json],
            Unreadable("not a json-rpc message"),
        ),
        (change.to_owned(), &[Json], Unreadable("no answer in it")),
    ];
    assert_each("look", cases).await;

    for content_type in [JSON, "text/plain", ""] {
        for body in ["{}", "", "[]", "it works"] {
            let respond = move |_: &Seen| response(200, content_type, body, InOrder);
            let (result, line, calls) = called("look", 300, respond).await;
            assert_eq!(result["isError"], true, "{content_type:?} {body:?}");
            assert_eq!(
                line["class"], "invalid_output",
                "{content_type:?} {body:?}: {line}"
            );
            assert_eq!(line["delivery"], "executed", "{line}");
            assert_eq!(line["attempts"], 1, "{line}");
            assert_eq!(calls, 1, "{content_type:?} {body:?}");
        }
    }
}
