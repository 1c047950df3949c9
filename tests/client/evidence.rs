//! Which claims a client believes about whether a call ran: those of its connection, and of the
//! server about this request.

use crate::support::{
    Ledger, Log, Scripted, call, reconnect, resilience, retry,
    scripted::{Seen, error, events, json_body, result},
    within,
};
use axum::{body::Body, http::HeaderValue, response::Response};
use mcp_resilience::{
    Failure,
    call::ToolResult,
    classify::ClassifyLayer,
    rmcp::Answer,
    rmcp::client::{ChildProcess, Client, Connector, Http},
};
use rmcp::model::{CallToolRequestParams, CallToolResponse};
use serde_json::{Value, json};

async fn connect(connector: impl Connector, log: &Log) -> Client {
    let client = Client::builder(connector)
        .resilience(resilience(log, retry()).build().unwrap())
        .reconnect(reconnect().build().unwrap());
    client.connect().await.unwrap()
}

async fn book(client: &Client) -> Result<Value, Failure> {
    let answer = client.call_tool(CallToolRequestParams::new("book")).await?;
    let CallToolResponse::Complete(result) = answer else {
        panic!("{answer:?}");
    };
    Ok(json!(result))
}

/// Answers the first call of `book` so.
async fn server(
    has_session: bool,
    first: impl Fn(&Seen) -> Response + Send + Sync + 'static,
) -> Scripted {
    Scripted::start(move |seen, before| match seen.method() {
        "initialize" if has_session => {
            let info = json!({
                "protocolVersion": "2025-11-25", "capabilities": {"tools": {}},
                "serverInfo": {"name": "scripted", "version": "1"},
            });
            let mut response = result(&seen.message["id"], &info);
            let session = HeaderValue::from_str(&format!("session-{before}")).unwrap();
            response.headers_mut().insert("mcp-session-id", session);
            Some(response)
        }
        "tools/call" if before == 0 => Some(first(seen)),
        _ => None,
    })
    .await
}

fn with_headers(mut response: Response, retry_after: &[&'static str]) -> Response {
    for value in retry_after {
        let value = HeaderValue::from_static(value);
        response.headers_mut().append("retry-after", value);
    }
    response
}

#[tokio::test]
async fn the_longest_of_several_retry_after_headers_counts() {
    let limited = json!({"code": -32000, "message": "slow down"});
    for headers in [
        &["1", "3600"][..],
        &["3600", "1"],
        &["1, 3600"],
        &["3600", "soon"],
    ] {
        let error_body = limited.clone();
        let server = server(false, move |seen| {
            with_headers(error(&seen.message["id"], 429, &error_body), headers)
        })
        .await;
        let log = Log::default();
        let client = connect(Http::new(&*server.url), &log).await;
        let _ = book(&client).await;
        let line = log.line();
        assert_eq!(line["retry_after_ms"], 3_600_000, "{headers:?}: {line}");
        assert_eq!(
            server.count("tools/call"),
            1,
            "too long to wait: {headers:?}"
        );
    }
}

/// An error of a rate limit with a long `Retry-After` beside it, as a refusal, a body or an event.
fn limited(seen: &Seen, carrier: usize, data: &Value) -> Response {
    let limited = json!({"code": -32023, "message": "slow down", "data": data});
    let id = &seen.message["id"];
    let response = match carrier {
        0 => error(id, 429, &limited),
        1 => error(id, 200, &limited),
        _ => {
            let answer = json!({"jsonrpc": "2.0", "id": id, "error": limited});
            events(format!("data: {answer}\n\n").into())
        }
    };
    with_headers(response, &["3600"])
}

#[tokio::test]
async fn the_wait_of_a_rate_limit_error_beats_the_header_beside_it() {
    for carrier in 0..3 {
        for own in [json!(10), json!("10"), json!(10.0)] {
            let data = json!({"retryAfterMs": own});
            let server = server(false, move |seen| limited(seen, carrier, &data)).await;
            let log = Log::default();
            let client = connect(Http::new(&*server.url), &log).await;
            assert_ne!(book(&client).await.unwrap()["isError"], true, "{carrier}");
            assert_eq!(server.count("tools/call"), 2, "{carrier}");
            let wait = &log.line()["retries"][0]["wait_ms"];
            assert!(wait.as_u64().unwrap() >= 10, "{carrier}");
        }
    }
}

#[tokio::test]
async fn a_rate_limit_error_without_the_wait_of_its_proposal_leaves_the_header_its_meaning() {
    for carrier in 0..3 {
        for data in [
            json!({"retryAfter": 0.01}),
            json!({"retry_after_seconds": 0.01, "retryAfterMs": 0}),
            json!({"limit": {"retryAfterMs": 10}}),
        ] {
            let said = data.clone();
            let server = server(false, move |seen| limited(seen, carrier, &said)).await;
            let client = connect(Http::new(&*server.url), &Log::default()).await;
            let failure = book(&client).await.unwrap_err();
            let wait = failure.retry_after().unwrap();
            assert_eq!(wait.as_secs(), 3600, "{carrier} {data}");
            assert_eq!(server.count("tools/call"), 1, "{carrier} {data}");
        }
    }
}

#[tokio::test]
async fn an_answer_that_a_session_is_unknown_may_be_of_a_session_of_the_tools_own() {
    let lost = json!({"code": -32001, "message": "Session not found"});
    for has_session in [true, false] {
        let lost = lost.clone();
        // With status 200, as a JSON-RPC error of the request.
        let server = server(has_session, move |seen| {
            error(&seen.message["id"], 200, &lost)
        })
        .await;
        let log = Log::default();
        let client = connect(Http::new(&*server.url), &log).await;
        let answer = book(&client).await;
        let line = log.line();
        if has_session {
            // A new one is made, in case it is the connection's.
            assert_eq!(line["class"], "session_lost", "{line}");
            assert_eq!(line["delivery"], "unknown", "{line}");
            assert_eq!(server.count("tools/call"), 1);
            assert_ne!(book(&client).await.unwrap()["isError"], true);
            assert_eq!(client.handle().generation(), 2);
        } else {
            let failure = answer.unwrap_err();
            assert_eq!(failure.rpc_error().unwrap().code, -32001);
            assert_eq!(line["class"], "protocol", "{line}");
            assert_eq!(line["delivery"], "unknown", "{line}");
            assert_eq!(server.count("tools/call"), 1);
        }
    }
}

/// A server in a shell, whose only tool writes a line and then says that a session is gone.
const SESSION_OF_ITS_OWN: &str = r#"
while read -r line; do
  id=$(printf '%s' "$line" | sed -n 's/.*"id":\([0-9]*\).*/\1/p')
  case "$line" in
    *'"initialize"'*) body='"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"shell","version":"1"}}' ;;
    *'"tools/list"'*) body='"result":{"tools":[{"name":"book","inputSchema":{"type":"object"}}]}' ;;
    *'"tools/call"'*) echo ran >> "$LEDGER"; body='"error":{"code":-32001,"message":"Session not found"}' ;;
    *) continue ;;
  esac
  printf '{"jsonrpc":"2.0","id":%s,%s}\n' "$id" "$body"
done
"#;

#[tokio::test]
async fn over_stdio_there_is_no_session_to_lose() {
    let (ledger, log) = (Ledger::new(), Log::default());
    let child = ChildProcess::new("sh")
        .args(["-c", SESSION_OF_ITS_OWN])
        .env("LEDGER", ledger.path());
    let client = connect(child, &log).await;
    let failure = book(&client).await.unwrap_err();
    assert_eq!(failure.rpc_error().unwrap().message, "Session not found");
    let line = log.line();
    assert_eq!(line["class"], "protocol", "{line}");
    assert_eq!(line["attempts"], 1, "{line}");
    let ran = std::fs::read_to_string(ledger.path()).unwrap();
    assert_eq!(ran.lines().count(), 1);
    assert_eq!(client.handle().generation(), 1);
    client.close().await;
}

#[tokio::test]
async fn an_answer_that_came_and_cannot_be_read_has_run_and_the_model_is_told() {
    let unreadable = |seen: &Seen| {
        let content = json!([{"type": "video", "data": "x"}]);
        json_body(&json!({
            "jsonrpc": "2.0", "id": seen.message["id"], "result": {"content": content},
        }))
    };
    let server = server(false, unreadable).await;
    let log = Log::default();
    let client = connect(Http::new(&*server.url), &log).await;
    let answer = book(&client).await.unwrap();
    assert_eq!(server.count("tools/call"), 1);
    let line = log.line();
    assert_eq!(line["class"], "invalid_output", "{line}");
    assert_eq!(line["delivery"], "executed", "{line}");
    let text = answer["content"][0]["text"].as_str().unwrap();
    assert!(
        text.contains("It has run; verify before repeating."),
        "{text}"
    );
}

#[tokio::test]
async fn a_wrong_result_over_stdio_has_run_and_the_model_is_told() {
    let (ledger, log) = (Ledger::new(), Log::default());
    let client = connect(ledger.stdio(&[]), &log).await;
    let fault = json!({"kind": "wrong_result"});
    let CallToolResponse::Complete(answer) =
        client.call_tool(call("book", &fault, 1)).await.unwrap()
    else {
        panic!("an answer");
    };
    let text = answer.content[0].as_text().unwrap().text.clone();
    assert!(
        text.contains("It has run; verify before repeating."),
        "{text}"
    );
    assert_eq!(ledger.count("executed"), 1);
    client.close().await;
}

#[tokio::test]
async fn a_status_503_refuses_a_call_only_with_a_time_or_a_code_that_is_a_refusal() {
    let cases = [
        (
            json!({"code": -32603, "message": "upstream connect error"}),
            None,
            1,
        ),
        (
            json!({"code": -32603, "message": "x", "data": {"code": "overloaded"}}),
            None,
            1,
        ),
        (
            json!({"code": -32603, "message": "x", "data": {"code": "service_unavailable"}}),
            None,
            2,
        ),
        (json!({"code": -32603, "message": "x"}), Some("0"), 2),
    ];
    for (body, header, times) in cases {
        let shown = body.to_string();
        let server = server(false, move |seen| {
            let headers: Vec<_> = header.into_iter().collect();
            with_headers(error(&seen.message["id"], 503, &body), &headers)
        })
        .await;
        let client = connect(Http::new(&*server.url), &Log::default()).await;
        let _ = book(&client).await;
        assert_eq!(server.count("tools/call"), times, "{shown} {header:?}");
    }
}

#[tokio::test]
async fn a_status_refuses_a_call_only_with_a_time_that_can_be_read() {
    for status in [503, 408] {
        for (header, times) in [("1", 2), ("soon", 1), ("-1", 1), ("", 1), (" , ", 1)] {
            let body = json!({"code": -32603, "message": "x"});
            let server = server(false, move |seen| {
                with_headers(error(&seen.message["id"], status, &body), &[header])
            })
            .await;
            let client = connect(Http::new(&*server.url), &Log::default()).await;
            let _ = book(&client).await;
            assert_eq!(server.count("tools/call"), times, "{status} {header:?}");
        }
    }
}

#[tokio::test]
async fn a_complete_body_that_is_not_json_is_an_invalid_answer() {
    for body in ["{\"jsonrpc\": \"2.0\", \"id\"", "[1] no"] {
        let server = server(false, move |_| {
            let mut response = json_body(&Value::Null);
            *response.body_mut() = Body::from(body);
            response
        })
        .await;
        let log = Log::default();
        let client = connect(Http::new(&*server.url), &log).await;
        assert_eq!(book(&client).await.unwrap()["isError"], true);
        assert_eq!(log.line()["class"], "invalid_output", "{body}");
        assert_eq!(log.line()["delivery"], "executed", "{body}");
        assert_eq!(server.count("tools/call"), 1);
    }
}

#[tokio::test]
async fn a_whole_body_of_the_type_of_events_that_has_none_has_come() {
    for (body, beginning) in [
        (&b"<html>\n<h1>Maintenance</h1>\n</html>\n"[..], "<html>"),
        (b"upstream connect error", "upstream connect error"),
        (
            b"\n\nHTTP/1.1 200 OK\r\nX-Powered-By: x\r\n\r\n",
            "HTTP/1.1 200 OK",
        ),
        // Compressed, although the client does not take that.
        (b"\x1f\x8b\x08\x00\x00\n\x00\x00\xed\xbd\r\n", "\\u{1f}"),
    ] {
        let server = server(false, move |_| events(body.into())).await;
        let log = Log::default();
        let client = connect(Http::new(&*server.url), &log).await;
        assert_eq!(book(&client).await.unwrap()["isError"], true);
        let line = log.line();
        assert_eq!(line["class"], "invalid_output", "{line}");
        assert_eq!(line["delivery"], "executed", "{line}");
        assert!(
            line["error"].as_str().unwrap().contains(beginning),
            "{line}"
        );
        assert_eq!(client.handle().generation(), 1, "{line}");
    }
}

#[tokio::test]
async fn a_stream_of_events_that_ends_without_an_answer_has_lost_it() {
    for body in [
        "",
        "\n",
        ": hello\n\n",
        "event: ping\ndata: hello\n\n",
        "data: <html>\n\nx: y\n\n",
        "id: 1x",
    ] {
        let server = server(false, move |_| events(body.into())).await;
        let log = Log::default();
        let client = connect(Http::new(&*server.url), &log).await;
        assert_eq!(book(&client).await.unwrap()["isError"], true);
        let line = log.line();
        assert_eq!(line["class"], "connection", "{body}: {line}");
        assert_eq!(line["delivery"], "unknown", "{body}: {line}");
    }
}

/// A flagged result of a tool, in a JSON body or in a stream.
fn flagged(id: &Value, content: &Value, is_stream: bool) -> Response {
    let body = json!({"jsonrpc": "2.0", "id": id, "result": {
        "isError": true,
        "content": [{"type": "text", "text": "not now"}],
        "structuredContent": content,
    }});
    if is_stream {
        return events(format!("data: {body}\n\n").into());
    }
    json_body(&body)
}

#[tokio::test]
async fn a_header_beside_a_flagged_result_is_a_floor_and_lets_no_call_run_again() {
    let refusal = json!({"code": "rate_limited", "error": "slow down"});
    let shorter = json!({"code": "rate_limited", "error": "slow down", "retryAfter": 1});
    let longer = json!({"code": "rate_limited", "error": "slow down", "retryAfter": 7200});
    let nothing = json!({"shelf": 4});
    #[rustfmt::skip]
    let cases = [
        (&refusal, "3600", 3_600_000, 1),
        (&shorter, "3600", 3_600_000, 1),
        (&longer, "3600", 7_200_000, 1),
        (&nothing, "1", 1_000, 1),
        (&nothing, "3600", 3_600_000, 1),
        (&refusal, "soon", 0, 2),
    ];
    for (content, header, wait, calls) in cases {
        for is_stream in [false, true] {
            let body = content.clone();
            let server = server(false, move |seen| {
                with_headers(flagged(&seen.message["id"], &body, is_stream), &[header])
            })
            .await;
            let log = Log::default();
            let client = connect(Http::new(&*server.url), &log).await;
            let answer = book(&client).await.unwrap();
            let line = log.line();
            assert_eq!(
                server.count("tools/call"),
                calls,
                "{content} {header}: {line}"
            );
            assert_eq!(answer["isError"] == true, calls == 1, "{answer}");
            if calls == 1 {
                assert_eq!(line["retry_after_ms"], wait, "{content} {header}: {line}");
                assert_eq!(answer["structuredContent"], *content, "as the tool gave it");
            }
        }
    }
}

/// Rules of the user's see such a result as any other.
#[tokio::test]
async fn a_rule_for_results_sees_a_flagged_one_with_a_header_beside_it() {
    let server = server(false, |seen| {
        with_headers(
            flagged(&seen.message["id"], &json!({"shelf": 4}), false),
            &["1"],
        )
    })
    .await;
    let log = Log::default();
    let classify = ClassifyLayer::new().result_rule(|answer: &Answer| {
        let is_shelf = answer
            .structured()
            .is_some_and(|content| content["shelf"] == 4);
        is_shelf.then(|| Failure::at_capacity(None).before_running())
    });
    let client = Client::builder(Http::new(&*server.url))
        .resilience(
            resilience(&log, retry())
                .classify(classify)
                .build()
                .unwrap(),
        )
        .reconnect(reconnect().build().unwrap());
    let client = within("a connection", client.connect()).await.unwrap();
    assert_ne!(book(&client).await.unwrap()["isError"], true);
    let line = log.line();
    assert_eq!(line["retries"][0]["class"], "at_capacity", "{line}");
    assert!(
        line["retries"][0]["wait_ms"].as_u64().unwrap() >= 1_000,
        "{line}"
    );
}
