//! Complete answers in malformed HTTP responses. Each is the answer, and nothing runs twice.

use crate::support::{
    Log, SECOND, Scripted, reconnect, resilience, retry,
    scripted::{
        BodyEnd::{self, BreaksOff, InOrder, Never},
        Seen, error, response, result, status,
    },
    within,
};
use axum::{http::HeaderValue, response::Response};
use mcp_resilience::{
    Failure,
    rmcp::client::{Client, Http},
};
use rmcp::model::{CallToolRequestParams, CallToolResponse};
use serde_json::{Value, json};

const JSON: &str = "application/json";
const EVENTS: &str = "text/event-stream";

fn good(seen: &Seen) -> Value {
    let content = json!([{"type": "text", "text": "good"}]);
    json!({"jsonrpc": "2.0", "id": seen.message["id"], "result": {"content": content}})
}

fn with_session(seen: &Seen) -> Response {
    let info = json!({
        "protocolVersion": "2025-11-25", "capabilities": {"tools": {}},
        "serverInfo": {"name": "scripted", "version": "1"},
    });
    let mut response = result(&seen.message["id"], &info);
    let session = HeaderValue::from_static("one");
    response.headers_mut().insert("mcp-session-id", session);
    response
}

/// One call of `look` that gets this response, the log's line of it, and what the server saw.
async fn look(
    has_session: bool,
    first: impl Fn(&Seen) -> Response + Send + Sync + 'static,
) -> (Result<CallToolResponse, Failure>, Value, Scripted) {
    let server = Scripted::start(move |seen, before| match seen.method() {
        "initialize" if has_session => Some(with_session(seen)),
        "tools/call" if before == 0 => Some(first(seen)),
        _ => None,
    });
    let server = server.await;
    let log = Log::default();
    // No limit ends such a call in a test that passes.
    let limits = resilience(&log, retry().deadline(100 * SECOND)).attempt_timeout(60 * SECOND);
    let client = Client::builder(Http::new(&*server.url))
        .resilience(limits.build().unwrap())
        .reconnect(reconnect().build().unwrap());
    let client = within("a connection", client.connect()).await.unwrap();
    let answer = within(
        "an answer",
        client.call_tool(CallToolRequestParams::new("look")),
    )
    .await;
    assert_eq!(client.handle().generation(), 1);
    (answer, log.line(), server)
}

#[tokio::test]
async fn a_complete_answer_is_the_answer_whatever_carries_it() {
    type Shape = fn(&Value) -> String;
    let plain: Shape = |answer| answer.to_string();
    let pretty: Shape = |answer| serde_json::to_string_pretty(answer).unwrap();
    let event: Shape = |answer| format!("event: message\ndata: {answer}\n\n");
    let cases: [(u16, &str, Shape, BodyEnd); 14] = [
        // The status says that nothing will come, and it is there.
        (202, JSON, plain, InOrder),
        (202, EVENTS, event, InOrder),
        (202, "", plain, Never),
        // Called events, or called JSON.
        (200, EVENTS, plain, InOrder),
        (200, EVENTS, pretty, InOrder),
        (200, EVENTS, plain, Never),
        (200, EVENTS, plain, BreaksOff),
        (200, JSON, event, InOrder),
        (200, "", event, Never),
        // Without an end.
        (200, JSON, plain, Never),
        (200, JSON, pretty, Never),
        (200, "text/plain", plain, Never),
        // With a bad end.
        (200, JSON, plain, BreaksOff),
        (200, EVENTS, event, BreaksOff),
    ];
    for (number, (status, content_type, shape, end)) in cases.into_iter().enumerate() {
        let (answer, line, server) = look(true, move |seen| {
            response(status, content_type, shape(&good(seen)), end)
        })
        .await;
        let Ok(CallToolResponse::Complete(answer)) = answer else {
            panic!("case {number}: {answer:?}");
        };
        assert_eq!(
            json!(answer)["content"][0]["text"],
            "good",
            "case {number}: {line}"
        );
        assert_eq!(line["attempts"], 1, "case {number}: {line}");
        assert_eq!(server.count("tools/call"), 1, "case {number}");
    }
}

#[tokio::test]
async fn an_incomplete_answer_is_lost_and_no_part_of_it_is_used() {
    for content_type in [JSON, EVENTS] {
        let (_, line, server) = look_twice(move |seen| {
            let answer = good(seen).to_string();
            let answer = &answer[..answer.len() - 1];
            let before = if content_type == EVENTS { "data: " } else { "" };
            response(200, content_type, format!("{before}{answer}"), BreaksOff)
        })
        .await;
        assert_eq!(line["retries"][0]["class"], "connection", "{line}");
        assert_eq!(server.count("tools/call"), 2);
    }
}

/// The same as [`look`], where the first connection is lost.
async fn look_twice(
    first: impl Fn(&Seen) -> Response + Send + Sync + 'static,
) -> (Result<CallToolResponse, Failure>, Value, Scripted) {
    let server = Scripted::start(move |seen, before| {
        (seen.method() == "tools/call" && before == 0).then(|| first(seen))
    });
    let server = server.await;
    let log = Log::default();
    let client = Client::builder(Http::new(&*server.url))
        .resilience(resilience(&log, retry()).build().unwrap())
        .reconnect(reconnect().build().unwrap());
    let client = within("a connection", client.connect()).await.unwrap();
    let answer = within(
        "an answer",
        client.call_tool(CallToolRequestParams::new("look")),
    )
    .await;
    (answer, log.line(), server)
}

#[tokio::test]
async fn a_call_that_is_only_accepted_ends_at_once_where_nothing_else_can_come() {
    for code in [202, 204] {
        let (answer, line, server) = look(false, move |_| status(code)).await;
        assert!(answer.is_ok(), "flagged: {answer:?}");
        assert_eq!(line["class"], "invalid_output", "{code}: {line}");
        let said = line["error"].as_str().unwrap();
        assert!(said.contains(&code.to_string()), "{said}");
        assert_eq!(server.count("tools/call"), 1);
    }
}

/// A session has another stream, until the server says that it has none.
#[tokio::test]
async fn a_call_that_is_only_accepted_in_a_session_ends_once_there_is_no_other_stream() {
    let server = Scripted::start(|seen, _| match seen.method() {
        "initialize" => Some(with_session(seen)),
        "tools/call" => Some(status(202)),
        _ => None,
    });
    let server = server.await;
    let log = Log::default();
    let limits = resilience(&log, retry().max_attempts(1)).attempt_timeout(SECOND);
    let client = Client::builder(Http::new(&*server.url))
        .resilience(limits.build().unwrap())
        .reconnect(reconnect().build().unwrap());
    let client = within("a connection", client.connect()).await.unwrap();
    within("the end of a call", async {
        while !log
            .lines()
            .iter()
            .any(|line| line["class"] == "invalid_output")
        {
            let _ = client.call_tool(CallToolRequestParams::new("book")).await;
        }
    })
    .await;
}

#[tokio::test]
async fn an_event_of_the_kind_error_is_the_error_of_the_call() {
    let (answer, line, server) = look(false, |_| {
        let error = json!({"code": -32000, "message": "backend down"});
        let error = json!({"jsonrpc": "2.0", "id": null, "error": error});
        let body = format!("event: error\ndata: {error}\n\n");
        response(200, EVENTS, body, InOrder)
    })
    .await;
    let failure = answer.unwrap_err();
    assert_eq!(failure.rpc_error().unwrap().message, "backend down");
    assert_eq!(line["attempts"], 1, "{line}");
    assert_eq!(server.count("tools/call"), 1);
}

#[tokio::test]
async fn the_wait_in_the_header_of_an_error_with_status_200_is_a_floor() {
    let (_, line, _) = look(false, |seen| {
        let limited = json!({"code": "rate_limited"});
        let limited = json!({"code": -32000, "message": "slow down", "data": limited});
        let mut response = error(&seen.message["id"], 200, &limited);
        let wait = HeaderValue::from_static("3600");
        response.headers_mut().insert("retry-after", wait);
        response
    })
    .await;
    assert_eq!(line["class"], "rate_limited", "{line}");
    assert_eq!(line["retry_after_ms"], 3_600_000, "{line}");
}
