//! Lost sessions, in the messages of different servers.

use crate::support::{
    Log, MS, Scripted, reconnect, resilience, retry,
    scripted::{result, status},
    within,
};
use axum::{body::Body, http::HeaderValue, response::Response};
use mcp_resilience::rmcp::client::{Client, Http};
use rmcp::model::{CallToolRequestParams, CallToolResponse};
use serde_json::{Value, json};
use tokio::time::sleep;

/// A server whose first session is good for the handshake alone; to a ping in it comes this.
async fn forgetful(
    code: u16,
    body: &'static str,
    ping: fn(&Value, usize) -> Option<Response>,
) -> Scripted {
    Scripted::start(move |seen, before| {
        let session = seen.headers.get("mcp-session-id");
        let is_lost = session.is_some_and(|session| session == "session-0");
        let id = &seen.message["id"];
        match seen.method() {
            "initialize" => {
                let info = json!({
                    "protocolVersion": "2025-11-25", "capabilities": {"tools": {}},
                    "serverInfo": {"name": "scripted", "version": "1"},
                });
                let mut response = result(id, &info);
                let session = HeaderValue::from_str(&format!("session-{before}")).unwrap();
                response.headers_mut().insert("mcp-session-id", session);
                Some(response)
            }
            "ping" if !is_lost => Some(result(id, &json!({}))),
            "ping" => ping(id, before).or_else(|| Some(refused(code, body))),
            "tools/call" if is_lost => Some(refused(code, body)),
            _ => None,
        }
    })
    .await
}

fn refused(code: u16, body: &'static str) -> Response {
    let mut response = status(code);
    *response.body_mut() = Body::from(body);
    response
}

async fn connect(server: &Scripted, log: &Log) -> Client {
    let client = Client::builder(Http::new(&*server.url))
        .resilience(resilience(log, retry()).build().unwrap())
        .reconnect(reconnect().build().unwrap());
    within("a connection", client.connect()).await.unwrap()
}

async fn is_good(client: &Client) -> bool {
    let book = CallToolRequestParams::new("book");
    let answer = within("an answer", client.call_tool(book)).await;
    matches!(answer, Ok(CallToolResponse::Complete(result)) if result.is_error != Some(true))
}

#[tokio::test]
async fn a_session_that_is_gone_is_replaced_also_where_nothing_says_that_the_call_did_not_run() {
    for (code, body) in [
        (410, ""),
        (410, "Gone"),
        (410, r#"{"error":"expired"}"#),
        (404, ""),
    ] {
        let server = forgetful(code, body, |_, _| None).await;
        let log = Log::default();
        let client = connect(&server, &log).await;
        assert!(!is_good(&client).await, "{code} {body}");
        let line = log.line();
        assert_eq!(line["class"], "session_lost", "{line}");
        assert_eq!(line["delivery"], "unknown", "{line}");
        assert!(is_good(&client).await, "{code} {body}");
        assert_eq!(client.handle().generation(), 2, "{code} {body}");
    }
}

#[tokio::test]
async fn a_refusal_with_an_unknown_message_starts_a_probe_of_the_session() {
    for (code, body) in [
        (400, ""),
        (400, "Bad Request"),
        (400, "your session has been evicted"),
        (400, r#"{"error":"stale handle"}"#),
        (
            400,
            r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32000,"message":"no such handle"}}"#,
        ),
        (
            400,
            r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"handshake first"}}"#,
        ),
        (409, "stale handle"),
        (422, r#"{"detail":"who are you?"}"#),
        (440, "Login timeout"),
        (500, "Internal Server Error"),
        (500, r#"{"error":"unknown session"}"#),
        (503, "Session not found"),
        (
            500,
            r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32603,"message":"KeyError"}}"#,
        ),
    ] {
        let first = |id: &Value, before| (before == 0).then(|| result(id, &json!({})));
        let server = forgetful(code, body, first).await;
        let log = Log::default();
        let client = connect(&server, &log).await;
        within("the ping in a new session", async {
            while server.count("ping") == 0 {
                sleep(10 * MS).await;
            }
        })
        .await;
        assert!(!is_good(&client).await, "{code} {body}");
        assert_eq!(
            server.count("tools/call"),
            1,
            "nothing says that it did not run"
        );
        within("another connection", async {
            while !is_good(&client).await {
                sleep(10 * MS).await;
            }
        })
        .await;
        assert_eq!(client.handle().generation(), 2, "{code} {body}");
    }
}

#[tokio::test]
async fn a_server_error_that_names_a_session_does_not_end_one_that_answers_a_ping() {
    for (code, class, body) in [
        (500, "upstream", "Session not found"),
        (500, "upstream", r#"{"error":"unknown session"}"#),
        (502, "upstream", r#"{"message":"Session not found"}"#),
        (503, "unavailable", r#"{"message":"Session not found"}"#),
        (
            500,
            "upstream",
            r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32001,"message":"Session not found"}}"#,
        ),
        (
            500,
            "upstream",
            r#"{"jsonrpc":"2.0","id":1,"error":{"code":-32001,"message":"Session not found","data":{"code":"E42"}}}"#,
        ),
        (
            503,
            "unavailable",
            r#"{"jsonrpc":"2.0","id":1,"error":{"code":-32001,"message":"Session not found","data":{"code":"E42"}}}"#,
        ),
    ] {
        let alive = |id: &Value, _| Some(result(id, &json!({})));
        let server = forgetful(code, body, alive).await;
        let log = Log::default();
        let client = connect(&server, &log).await;
        assert!(!is_good(&client).await, "{body}");
        let line = log.line();
        assert_eq!(line["class"], class, "{line}");
        assert_eq!(line["delivery"], "unknown", "{line}");
        within("the ping after the one in a new session", async {
            while server.count("ping") < 2 {
                sleep(10 * MS).await;
            }
        })
        .await;
        assert!(!is_good(&client).await, "{body}");
        assert_eq!(client.handle().generation(), 1, "{code} {body}");
    }
}

#[tokio::test]
async fn a_bad_request_does_not_end_a_session_that_answers_a_ping() {
    let alive: [fn(&Value, usize) -> Option<Response>; 2] = [
        |id, _| Some(result(id, &json!({}))),
        // A server that knows no ping is alive too.
        |id, _| {
            let error = json!({"code": -32601, "message": "ping"});
            Some(crate::support::scripted::error(id, 400, &error))
        },
    ];
    for ping in alive {
        let server = forgetful(400, "bad arguments", ping).await;
        let log = Log::default();
        let client = connect(&server, &log).await;
        assert!(!is_good(&client).await);
        assert_eq!(log.line()["class"], "invalid_input");
        within("the ping after the one in a new session", async {
            while server.count("ping") < 2 {
                sleep(10 * MS).await;
            }
        })
        .await;
        assert!(!is_good(&client).await);
        assert_eq!(client.handle().generation(), 1);
    }
    // One that is about the request needs none.
    let body = r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32602,"message":"no such book"}}"#;
    let server = forgetful(400, body, |_, _| None).await;
    let client = connect(&server, &Log::default()).await;
    assert!(!is_good(&client).await);
    assert!(!is_good(&client).await);
    assert!(server.count("ping") <= 1, "that in a new session");
}

#[tokio::test]
async fn a_server_that_refuses_pings_keeps_its_session() {
    for (code, body) in [
        (400, "Bad Request"),
        (
            400,
            r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"what is a ping?"}}"#,
        ),
        (409, "Conflict"),
        (500, "Internal Server Error"),
    ] {
        let server = forgetful(code, body, |_, _| None).await;
        let log = Log::default();
        let client = connect(&server, &log).await;
        // The second probe begins after the verdict of the first.
        within("two probes after the ping in a new session", async {
            while server.count("ping") < 3 {
                assert!(!is_good(&client).await, "{body}");
                sleep(10 * MS).await;
            }
        })
        .await;
        assert_eq!(client.handle().generation(), 1, "{code} {body}");
    }
}
