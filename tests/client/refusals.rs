//! Bodies of HTTP refusals, in the forms of different servers. Also refusals of the last message of a
//! handshake.

use crate::support::{
    Log, SECOND, Scripted, reconnect, resilience, retry,
    scripted::{result, status},
    within,
};
use axum::{
    body::Body,
    http::{HeaderValue, StatusCode},
    response::Response,
};
use mcp_resilience::{
    classify::{ClassifyLayer, Vocabulary},
    rmcp::client::{Client, Http},
};
use rmcp::model::{CallToolRequestParams, CallToolResponse};
use serde_json::{Value, json};
use tokio::time::Instant;

async fn connect(server: &Scripted, log: &Log) -> Client {
    connect_with(server, log, ClassifyLayer::new()).await
}

async fn connect_with(server: &Scripted, log: &Log, classify: ClassifyLayer) -> Client {
    let resilience = resilience(log, retry()).classify(classify);
    let client = Client::builder(Http::new(&*server.url))
        .resilience(resilience.build().unwrap())
        .reconnect(reconnect().build().unwrap());
    within("a connection", client.connect()).await.unwrap()
}

async fn is_good(client: &Client) -> bool {
    let answer = within(
        "an answer",
        client.call_tool(CallToolRequestParams::new("book")),
    )
    .await;
    matches!(answer, Ok(CallToolResponse::Complete(result)) if result.is_error != Some(true))
}

fn refused(code: u16, body: impl Into<Body>) -> Response {
    let mut response = status(code);
    *response.status_mut() = StatusCode::from_u16(code).unwrap();
    *response.body_mut() = body.into();
    response
}

#[tokio::test]
async fn a_lost_session_is_recognized_by_the_message_of_an_sdk_anywhere_in_the_body() {
    let rpc = |code: Value, message: &str| json!({"jsonrpc": "2.0", "id": null, "error": {"code": code, "message": message}});
    let cases = [
        (400, json!({"error": "Session not found"}).to_string()),
        (400, json!({"detail": "Session not found"}).to_string()),
        (400, json!({"message": "Invalid session ID"}).to_string()),
        (
            400,
            json!({"error": {"message": "Session not found"}}).to_string(),
        ),
        (
            400,
            json!({"error": "Invalid or missing session ID"}).to_string(),
        ),
        (400, json!("Session not found").to_string()),
        (400, "Invalid or missing session ID".to_owned()),
        (
            400,
            rpc(json!(-32000), "Bad Request: Server not initialized").to_string(),
        ),
        (400, rpc(json!("-32001"), "Session not found").to_string()),
        (
            400,
            json!([rpc(json!(-32001), "Session not found")]).to_string(),
        ),
        (
            400,
            format!(
                "event: message\ndata: {}\n\n",
                rpc(json!(-32001), "Session not found")
            ),
        ),
        (401, "Unauthorized: Session not found".to_owned()),
        (
            404,
            rpc(json!(-32600), "Not Found: Session has been terminated").to_string(),
        ),
        (
            404,
            rpc(json!(-32603), "Session not found: session-0").to_string(),
        ),
    ];
    for (code, body) in cases {
        let sent = body.clone();
        let server = Scripted::start(move |seen, before| {
            let session = seen.headers.get("mcp-session-id");
            match seen.method() {
                "initialize" => {
                    let info = json!({
                        "protocolVersion": "2025-11-25", "capabilities": {"tools": {}},
                        "serverInfo": {"name": "scripted", "version": "1"},
                    });
                    let mut response = result(&seen.message["id"], &info);
                    let session = HeaderValue::from_str(&format!("session-{before}")).unwrap();
                    response.headers_mut().insert("mcp-session-id", session);
                    Some(response)
                }
                "tools/call" if session.is_some_and(|session| session == "session-0") => {
                    Some(refused(code, sent.clone()))
                }
                _ => None,
            }
        });
        let server = server.await;
        let log = Log::default();
        let client = connect(&server, &log).await;
        assert!(is_good(&client).await, "{code} {body}: {}", log.line());
        let line = log.line();
        assert_eq!(
            line["retries"][0]["class"], "session_lost",
            "{code} {body}: {line}"
        );
        assert_eq!(client.handle().generation(), 2, "{code} {body}");
    }
}

#[tokio::test]
async fn a_wait_in_the_body_of_a_refusal_is_a_floor_in_every_form_of_the_body() {
    let error = json!({"code": -32023, "message": "slow", "data": {"retryAfterMs": 3_600_000}});
    let rpc = json!({"jsonrpc": "2.0", "id": null, "error": error});
    let own = json!({"error": "slow down", "retryAfter": 3600});
    let never = |body: String| {
        use futures_util::StreamExt;
        let body = futures_util::stream::iter([Ok::<_, std::convert::Infallible>(body)]);
        Body::from_stream(body.chain(futures_util::stream::pending()))
    };
    let coded = |code: Value| {
        let mut rpc = rpc.clone();
        rpc["error"]["code"] = code;
        rpc.to_string()
    };
    let bodies = [
        rpc.to_string(),
        coded(json!("-32023")),
        coded(json!(-32023.0)),
        json!({"error": error}).to_string(),
        json!([rpc]).to_string(),
        json!([1, rpc]).to_string(),
        json!([own]).to_string(),
        json!(own.to_string()).to_string(),
        json!(rpc.to_string()).to_string(),
        format!(": hello\n\ndata: {rpc}"),
        format!("\u{feff}{own}"),
        format!("data: {rpc}\n\n"),
        format!("event: error\ndata: {own}\n\n"),
    ];
    for body in bodies {
        for is_open in [false, true] {
            let sent = body.clone();
            let server = Scripted::start(move |seen, _| {
                (seen.method() == "tools/call").then(|| {
                    let body = sent.clone();
                    refused(
                        429,
                        if is_open {
                            never(body)
                        } else {
                            Body::from(body)
                        },
                    )
                })
            });
            let server = server.await;
            let log = Log::default();
            let client = connect(&server, &log).await;
            assert!(!is_good(&client).await);
            // A body that is not JSON stays open.
            if !is_open || body.starts_with(['{', '[', '"']) {
                let wait = &log.line()["retry_after_ms"];
                assert_eq!(*wait, 3_600_000, "{body} {is_open}: {}", log.line());
                assert_eq!(server.count("tools/call"), 1, "{body}");
            }
        }
    }
}

#[tokio::test]
async fn a_gateway_without_an_answer_cannot_say_that_a_call_did_not_run_or_may_run_again() {
    let of_gateway = [
        json!({"code": "service_unavailable", "message": "x"}),
        json!({"error": {"code": "rate_limited", "message": "x"}}),
        json!({"error": {"code": 504, "message": "x", "data": {"retryable": true}}}),
        json!({"title": "Error 524: A timeout occurred", "status": 524, "retryable": true, "retry_after": 1}),
        json!({"code": "upstream_error", "error": "x", "status": 502}),
        json!({"error": {"code": 504, "message": "x", "data": {"reason": "rate_limited"}}}),
        json!({"error": {"code": 504, "message": "x", "data": {"fault": {"code": "rate_limited"}}}}),
    ];
    // The user's names help to find what is said, and do not make it true.
    let names = Vocabulary::new().code_field("reason").envelope_in("fault");
    let of_server = json!({"jsonrpc": "2.0", "id": null, "error": {
        "code": -32000, "message": "x", "data": {"code": "rate_limited"},
    }});
    for code in [502, 504, 520, 522, 524, 530, 598] {
        for (body, calls) in of_gateway
            .iter()
            .map(|body| (body, 1))
            .chain([(&of_server, 2)])
        {
            let text = body.to_string();
            let server = Scripted::start(move |seen, before| {
                let is_first = seen.method() == "tools/call" && before == 0;
                is_first.then(|| refused(code, text.clone()))
            })
            .await;
            let log = Log::default();
            let classify = ClassifyLayer::new().vocabulary(names.clone());
            let client = connect_with(&server, &log, classify).await;
            assert_eq!(is_good(&client).await, calls == 2, "{code} {body}");
            assert_eq!(server.count("tools/call"), calls, "{code} {body}");
            if calls == 1 {
                assert_eq!(log.line()["delivery"], "unknown", "{code} {body}");
            }
        }
    }
}

#[tokio::test]
async fn a_refusal_of_the_last_message_of_a_handshake_is_told_and_its_wait_is_a_floor() {
    let log = Log::default();
    let server = Scripted::start(|seen, before| match (seen.method(), before) {
        ("tools/call", 0) => Some(refused(404, "no")),
        ("notifications/initialized", 1) => {
            let mut response = status(429);
            let wait = HeaderValue::from_static("2");
            response.headers_mut().insert("retry-after", wait);
            Some(response)
        }
        _ => None,
    });
    let server = server.await;
    let client = connect(&server, &log).await;
    let begun = Instant::now();
    within("a connection", async {
        let _ = client.handle().reconnect().await;
        assert!(is_good(&client).await || is_good(&client).await);
    })
    .await;
    assert!(begun.elapsed() >= 2 * SECOND, "{:?}", begun.elapsed());
    assert_eq!(server.count("initialize"), 3);

    let locked = Scripted::start(|seen, _| {
        (seen.method() == "notifications/initialized").then(|| status(401))
    });
    let failure = Client::connect(Http::new(&*locked.await.url))
        .await
        .unwrap_err();
    let chain = failure.chain().to_string();
    assert!(chain.contains("401 Unauthorized"), "{chain}");
}

#[tokio::test]
async fn a_status_without_a_name_is_told_by_its_number() {
    let server =
        Scripted::start(|seen, _| (seen.method() == "tools/call").then(|| refused(529, "")));
    let server = server.await;
    let log = Log::default();
    let client = connect(&server, &log).await;
    is_good(&client).await;
    let line = log.line();
    let said = line["error"].as_str().unwrap();
    assert!(said.contains("529") && !said.contains("unknown"), "{said}");
}
