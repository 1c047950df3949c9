//! HTTP details: redirects, bodies that never end, ids, headers, and which server gets which
//! headers.

use crate::support::{
    Log, SECOND, Scripted, reconnect, resilience, retry,
    scripted::{error, events, json_body, result, status},
    within,
};
use axum::body::Body;
use mcp_resilience::{
    Class,
    failure::Delivery,
    rmcp::client::{Client, Http},
};
use reqwest::header::{HeaderName, HeaderValue};
use rmcp::model::{CallToolRequestParams, CallToolResponse, ReadResourceRequestParams};
use serde_json::{Value, json};
use std::{convert::Infallible, time::Duration};
use tokio::time::{Instant, sleep};

async fn connect(connector: Http, log: &Log) -> Client {
    let client = Client::builder(connector)
        .resilience(resilience(log, retry()).build().unwrap())
        .reconnect(reconnect().build().unwrap());
    within("a connection", client.connect()).await.unwrap()
}

async fn call(client: &Client, tool: &'static str) -> Value {
    let answer = within(
        "an answer",
        client.call_tool(CallToolRequestParams::new(tool)),
    )
    .await;
    match answer.unwrap() {
        CallToolResponse::Complete(result) => json!(result),
        answer => panic!("{answer:?}"),
    }
}

/// A body that breaks off: the answer is lost.
fn cut_off() -> axum::response::Response {
    let broken = futures_util::stream::iter([
        Ok(Vec::from("{\"jsonrpc\"")),
        Err(std::io::Error::other("cut off")),
    ]);
    let mut response = json_body(&Value::Null);
    *response.body_mut() = Body::from_stream(broken);
    response
}

fn redirect(code: u16, to: &str) -> axum::response::Response {
    let mut response = status(code);
    let to = to.parse().unwrap();
    response.headers_mut().insert("location", to);
    response
}

#[tokio::test]
async fn a_redirect_is_followed_to_the_same_server_alone() {
    let other = Scripted::start(|_, _| None).await;
    let elsewhere = other.url.clone();
    let first = Scripted::start(move |_, _| Some(redirect(307, &elsewhere))).await;
    let secret = (
        HeaderName::from_static("x-api-key"),
        HeaderValue::from_static("s3cret"),
    );
    let connector = Http::new(&*first.url).header(secret.0.clone(), secret.1);
    let failure = Client::connect(connector).await.unwrap_err();
    assert_eq!(failure.class(), Class::Fatal);
    assert!(other.seen().is_empty(), "nobody else is told anything");

    // A server that wants a slash at the end.
    let moved = Scripted::start(|seen, _| {
        let is_moved = seen.headers.get("x-moved").is_none() && seen.method() == "initialize";
        is_moved.then(|| redirect(308, "/mcp/"))
    });
    let moved = moved.await;
    let failure = Client::connect(Http::new(&*moved.url)).await;
    // It moves on for ever: given up, and not followed for ever.
    assert!(failure.is_err());
    assert!(
        moved.count("initialize") <= 6,
        "{}",
        moved.count("initialize")
    );
}

#[tokio::test]
async fn a_redirect_to_a_get_is_no_proof_that_a_call_did_not_run() {
    let log = Log::default();
    let server = Scripted::start(|seen, _| {
        (seen.method() == "tools/call").then(|| redirect(303, "http://127.0.0.1:9/"))
    });
    let server = server.await;
    let client = connect(Http::new(&*server.url), &log).await;
    assert_eq!(call(&client, "book").await["isError"], true);
    assert_eq!(server.count("tools/call"), 1);
    assert_eq!(log.line()["delivery"], "unknown");
}

#[tokio::test]
async fn a_503_that_says_nothing_may_come_from_a_proxy_that_lost_the_request() {
    for (tool, calls) in [("book", 1), ("look", 2)] {
        let log = Log::default();
        let server = Scripted::start(|seen, before| {
            (seen.method() == "tools/call" && before == 0).then(|| status(503))
        });
        let server = server.await;
        let client = connect(Http::new(&*server.url), &log).await;
        call(&client, tool).await;
        assert_eq!(server.count("tools/call"), calls, "{tool}");
    }
}

#[tokio::test]
async fn the_body_of_a_refusal_that_never_ends_hides_no_status_and_no_wait() {
    let log = Log::default();
    let server = Scripted::start(|seen, _| {
        let forever =
            Body::from_stream(futures_util::stream::pending::<Result<Vec<u8>, Infallible>>());
        (seen.method() == "tools/call").then(|| {
            let mut response = status(429);
            *response.body_mut() = forever;
            let wait = HeaderValue::from_static("3600");
            response.headers_mut().insert("retry-after", wait);
            response
        })
    });
    let server = server.await;
    let client = connect(Http::new(&*server.url), &log).await;
    let result = call(&client, "book").await;
    assert_eq!(result["structuredContent"]["retryAfter"], 3600, "{result}");
    assert_eq!(log.line()["class"], "rate_limited");
}

#[tokio::test]
async fn the_transports_own_headers_are_sent_once_and_the_users_beside_them() {
    let server = Scripted::start(|_, _| None).await;
    let connector = Http::new(&*server.url)
        .bearer("token")
        .header(
            HeaderName::from_static("authorization"),
            HeaderValue::from_static("Basic x"),
        )
        .header(
            HeaderName::from_static("accept"),
            HeaderValue::from_static("text/html"),
        )
        .header(
            HeaderName::from_static("x-tenant"),
            HeaderValue::from_static("a"),
        );
    let client = connect(connector, &Log::default()).await;
    call(&client, "book").await;
    for seen in server.seen() {
        let all = |name: &str| -> Vec<String> {
            let values = seen.headers.get_all(name).iter();
            values
                .map(|value| value.to_str().unwrap().to_owned())
                .collect()
        };
        assert_eq!(all("authorization"), ["Bearer token"]);
        assert_eq!(all("accept").len(), 1);
        assert_eq!(all("x-tenant"), ["a"]);
    }
}

#[tokio::test]
async fn a_dial_comes_no_earlier_than_the_server_asked() {
    let log = Log::default();
    let server = Scripted::start(|seen, before| match (seen.method(), before) {
        ("tools/call", 0) => Some(status(500)),
        ("tools/call", 1) => Some(cut_off()),
        ("initialize", 1) => {
            let mut response = status(429);
            let wait = HeaderValue::from_static("2");
            response.headers_mut().insert("retry-after", wait);
            Some(response)
        }
        _ => None,
    });
    let server = server.await;
    let client = connect(Http::new(&*server.url), &log).await;
    call(&client, "book").await;
    call(&client, "book").await;
    let begun = Instant::now();
    assert_eq!(call(&client, "book").await["content"][0]["text"], "fine");
    assert!(begun.elapsed() >= 2 * SECOND, "{:?}", begun.elapsed());
    assert_eq!(server.count("initialize"), 3);
}

#[tokio::test]
async fn a_wait_that_is_longer_than_a_call_would_wait_is_told_at_once() {
    let server = Scripted::start(|seen, before| match (seen.method(), before) {
        ("tools/call", 0) => Some(cut_off()),
        ("initialize", 1) => {
            let mut response = status(429);
            let wait = HeaderValue::from_static("3600");
            response.headers_mut().insert("retry-after", wait);
            Some(response)
        }
        _ => None,
    });
    let server = server.await;
    let client = connect(Http::new(&*server.url), &Log::default()).await;
    call(&client, "book").await;
    let result = call(&client, "book").await;
    assert_eq!(
        result["structuredContent"]["code"], "rate_limited",
        "{result}"
    );
    let wait = result["structuredContent"]["retryAfter"].as_u64();
    assert!(wait.is_some_and(|wait| wait > 3500), "{result}");
}

#[tokio::test]
async fn an_error_that_a_server_makes_while_it_starts_does_not_end_the_client() {
    let refusals: [fn(&Value) -> axum::response::Response; 3] = [
        |id| error(id, 500, &json!({"code": -32603, "message": "starting up"})),
        |id| error(id, 200, &json!({"code": -32000, "message": "starting up"})),
        |_| status(404),
    ];
    for refusal in refusals {
        let server = Scripted::start(move |seen, before| match (seen.method(), before) {
            ("tools/call", 0) => Some(cut_off()),
            ("initialize", 1) => Some(refusal(&seen.message["id"])),
            _ => None,
        });
        let server = server.await;
        let client = connect(Http::new(&*server.url), &Log::default()).await;
        call(&client, "book").await;
        assert_eq!(call(&client, "book").await["content"][0]["text"], "fine");
        assert_eq!(server.count("initialize"), 3);
    }
}

#[tokio::test]
async fn credentials_that_are_refused_later_fail_each_call_after_a_dial_or_two() {
    let server = Scripted::start(|seen, before| match (seen.method(), before) {
        ("tools/call", 0) => Some(cut_off()),
        ("initialize", 1..) => Some(status(401)),
        _ => None,
    });
    let server = server.await;
    let client = connect(Http::new(&*server.url), &Log::default()).await;
    for _ in 0..4 {
        call(&client, "book").await;
    }
    // The first call is lost, the second sees two dials fail, and the others one each.
    assert_eq!(server.count("initialize"), 5);
}

#[tokio::test]
async fn a_resource_that_is_gone_is_not_read_out_of_a_cache() {
    let server = Scripted::start(|seen, before| {
        let id = &seen.message["id"];
        (seen.method() == "resources/read").then(|| match before {
            0 => result(
                id,
                &json!({"contents": [{"uri": "a://b", "text": "old"}], "ttlMs": 60_000}),
            ),
            _ => error(
                id,
                200,
                &json!({"code": -32002, "message": "no such resource"}),
            ),
        })
    });
    let server = server.await;
    let client = connect(Http::new(&*server.url), &Log::default()).await;
    let read = || client.read_resource(ReadResourceRequestParams::new("a://b"));
    read().await.unwrap();
    assert_eq!(read().await.unwrap_err().class(), Class::NotFound);
}

#[tokio::test]
async fn a_list_of_tools_that_never_ends_is_cut_short_and_the_client_works() {
    let endless = Scripted::start(|seen, before| {
        let id = &seen.message["id"];
        let tools = json!([{"name": format!("t{before}"), "inputSchema": {"type": "object"}}]);
        (seen.method() == "tools/list").then(|| {
            result(
                id,
                &json!({"tools": tools, "nextCursor": before.to_string()}),
            )
        })
    });
    let repeated = Scripted::start(|seen, _| {
        let id = &seen.message["id"];
        (seen.method() == "tools/list")
            .then(|| result(id, &json!({"tools": [], "nextCursor": "again"})))
    });
    let broken = Scripted::start(|seen, _| (seen.method() == "tools/list").then(|| status(500)));
    for server in [endless.await, repeated.await, broken.await] {
        let connector = Http::new(&*server.url).start_timeout(2 * SECOND);
        let client = connect(connector, &Log::default()).await;
        assert_eq!(call(&client, "book").await["content"][0]["text"], "fine");
    }
}

/// The stream of a call that broke off, on a server that allows one at a time.
#[tokio::test]
async fn a_resumed_stream_may_be_silent_for_8_seconds() {
    let server = Scripted::start(|seen, _| {
        if seen.verb == "GET" {
            seen.headers.get("last-event-id")?;
            let late = futures_util::stream::once(async {
                sleep(Duration::from_secs(8)).await;
                let answer = json!({"jsonrpc": "2.0", "id": 2, "result": {"content": []}});
                Ok::<_, Infallible>(format!("data: {answer}\n\n"))
            });
            return Some(events(Body::from_stream(late)));
        }
        (seen.method() == "tools/call").then(|| events(Body::from("id: 1\nretry: 0\ndata:\n\n")))
    });
    let server = server.await;
    let log = Log::default();
    let resilience = resilience(&log, retry()).attempt_timeout(30 * SECOND);
    let client = Client::builder(Http::new(&*server.url)).resilience(resilience.build().unwrap());
    let client = client.connect().await.unwrap();
    call(&client, "book").await;
    assert_eq!(log.line()["outcome"], "success", "{}", log.line());
    let resumed = server
        .seen()
        .iter()
        .filter(|seen| seen.headers.contains_key("last-event-id"))
        .count();
    assert!(
        resumed <= 4,
        "{resumed}: no flood, whatever the server asks for"
    );
}

#[tokio::test]
async fn a_call_that_ran_once_is_never_said_not_to_have_been_sent() {
    let log = Log::default();
    let server = Scripted::start(|seen, before| match (seen.method(), before) {
        ("tools/call", 0) => Some(cut_off()),
        ("initialize", 1..) => Some(status(401)),
        _ => None,
    });
    let server = server.await;
    let client = connect(Http::new(&*server.url), &log).await;
    call(&client, "look").await;
    let line = log.line();
    assert_eq!(line["attempts"], 2, "{line}");
    assert_eq!(line["delivery"], Delivery::Unknown.as_str(), "{line}");
}

#[tokio::test]
async fn by_default_the_connector_explains_what_takes_too_long() {
    let mute = mcp_resilience::rmcp::client::ChildProcess::new("sh")
        .args(["-c", "echo waiting for a licence key >&2; exec sleep 3600"])
        .start_timeout(5 * SECOND);
    let failure = Client::connect(mute).await.unwrap_err();
    let chain = failure.chain().to_string();
    assert!(chain.contains("not ready within 5s"), "{chain}");
    assert!(
        chain.ends_with("its last words: waiting for a licence key"),
        "{chain}"
    );
}

#[tokio::test]
async fn requests_that_are_not_calls_bypass_the_stack() {
    let server = Scripted::start(|seen, before| {
        let tools = json!([{"name": "new", "inputSchema": {"type": "object"}}]);
        (seen.method() == "tools/list" && before == 1)
            .then(|| result(&seen.message["id"], &json!({"tools": tools})))
    });
    let server = server.await;
    let client = connect(Http::new(&*server.url), &Log::default()).await;
    assert_eq!(client.tools().unwrap().len(), 2);
    client.refresh().await.unwrap();
    assert_eq!(client.tools().unwrap()[0].name, "new");
    let connection = client.connection().unwrap();
    assert!(connection.peer().peer_info().is_some());
}

#[tokio::test]
async fn the_cause_of_a_dial_that_fails_is_in_the_chain_once() {
    // Bound and closed: nothing listens there.
    let address = {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        listener.local_addr().unwrap()
    };
    let failure = Client::connect(Http::new(format!("http://{address}/mcp")));
    let chain = within("a failure", failure)
        .await
        .unwrap_err()
        .chain()
        .to_string();
    assert_eq!(
        chain.to_lowercase().matches("connection refused").count(),
        1,
        "{chain}"
    );
}

#[tokio::test]
async fn the_cause_of_a_call_that_was_cut_off_is_in_the_line() {
    let log = Log::default();
    let server = Scripted::start(|seen, _| (seen.method() == "tools/call").then(cut_off)).await;
    let client = connect(Http::new(&*server.url), &log).await;
    assert_eq!(call(&client, "book").await["isError"], true);
    let line = log.line();
    assert_eq!(line["class"], "connection", "{line}");
    let said = line["error"].as_str().unwrap();
    assert!(!said.contains("Client error"), "{said}");
    assert!(said.matches(": ").count() >= 2, "{said}");
}

/// The answer to a call, as the body of a stream.
async fn streamed(body: impl Fn(&str) -> String + Send + Sync + 'static) -> (Value, Value) {
    let server = Scripted::start(move |seen, _| {
        let id = &seen.message["id"];
        let content = json!([{"type": "text", "text": "fine"}]);
        let answer = json!({"jsonrpc": "2.0", "id": id, "result": {"content": content}});
        (seen.method() == "tools/call").then(|| events(Body::from(body(&answer.to_string()))))
    });
    let server = server.await;
    let log = Log::default();
    let client = connect(Http::new(&*server.url), &log).await;
    let result = call(&client, "look").await;
    assert_eq!(server.count("tools/call"), 1);
    (result, log.line())
}

#[tokio::test]
async fn an_event_of_any_kind_that_carries_the_id_is_the_answer() {
    for kind in ["response", "result", "ping"] {
        let (result, line) =
            streamed(move |answer| format!("event: {kind}\ndata: {answer}\n\n")).await;
        assert_eq!(result["content"][0]["text"], "fine", "{kind}: {line}");
    }
    for before in [
        "hello ",
        "no json\n\ndata: ",
        "{\"level\":\"error\",\"error\":\"disk full\"}\n\ndata: ",
    ] {
        let body = move |answer: &str| format!("data: {before}{answer}\n\n");
        let (result, line) = streamed(body).await;
        assert_eq!(result["content"][0]["text"], "fine", "{before}: {line}");
    }
    let (result, line) = streamed(|answer| format!("data: hello {answer}\n\n")).await;
    assert_eq!(result["content"][0]["text"], "fine", "{line}");
}

#[tokio::test]
async fn events_are_read_whichever_way_their_lines_end_and_their_parts_come() {
    for end in ["\n", "\r\n", "\r"] {
        for length in [1, 4096] {
            let server = Scripted::start(move |seen, _| {
                let id = &seen.message["id"];
                let before = format!(
                    "\u{feff}data: a{end}{end}: a comment{end}{end}what: x{end}id: 1{end}retry: x{end}{end}"
                );
                // Two lines of data, and a byte that is not UTF-8.
                let first = format!("data: {{\"jsonrpc\":\"2.0\",\"id\":{id},{end}");
                let last = r#"data:"result":{"content":[{"type":"text","text":"fine "#;
                let after = format!(r#""}}]}}}}{end}{end}data: d"#);
                let body = [
                    before.as_bytes(),
                    first.as_bytes(),
                    last.as_bytes(),
                    b"\xb0",
                    after.as_bytes(),
                ];
                let body = body.concat();
                let parts: Vec<_> = body.chunks(length).map(<[u8]>::to_vec).collect();
                let parts = parts.into_iter().map(Ok::<_, Infallible>);
                let body = Body::from_stream(futures_util::stream::iter(parts));
                (seen.method() == "tools/call").then(|| events(body))
            });
            let server = server.await;
            let client = connect(Http::new(&*server.url), &Log::default()).await;
            let text = &call(&client, "look").await["content"][0]["text"];
            assert_eq!(text, "fine \u{fffd}", "{end:?}");
        }
    }
}

#[tokio::test]
async fn an_unreadable_message_before_the_answer_does_not_hide_it() {
    let server = Scripted::start(|seen, _| {
        let id = &seen.message["id"];
        let good = json!({"jsonrpc": "2.0", "id": id, "result": {"content": []}});
        (seen.method() == "tools/call")
            .then(|| json_body(&json!([{"level": "info"}, {"method": 7}, good])))
    });
    let server = server.await;
    let client = connect(Http::new(&*server.url), &Log::default()).await;
    assert_eq!(call(&client, "book").await["isError"], Value::Null);
}

#[tokio::test]
async fn a_request_of_the_server_that_cannot_be_read_is_refused_under_its_id() {
    let server = Scripted::start(|seen, _| {
        let id = &seen.message["id"];
        let ping = r#"{"jsonrpc":"2.0","id":70,"method":"ping","params":[1]}"#;
        let bare = r#"{"id":71,"method":"ping"}"#;
        let answer = json!({"jsonrpc": "2.0", "id": id, "result": {"content": []}});
        (seen.method() == "tools/call").then(|| {
            let body = format!("data: {ping}\n\ndata: {bare}\n\ndata: {answer}\n\n");
            events(Body::from(body))
        })
    });
    let server = server.await;
    let client = connect(Http::new(&*server.url), &Log::default()).await;
    call(&client, "book").await;
    let answered = async |id: i64| loop {
        let seen = server.seen();
        let answer = seen.iter().find(|seen| seen.message["id"] == id);
        if let Some(answer) = answer {
            return answer.message.clone();
        }
        sleep(Duration::from_millis(20)).await;
    };
    let refused = within("a refusal", answered(70)).await;
    assert_eq!(refused["error"]["code"], -32600, "{refused}");
    let pong = within("a pong", answered(71)).await;
    assert!(pong["result"].is_object(), "{pong}");
}

#[cfg(not(feature = "rmcp-client-https"))]
#[tokio::test]
async fn a_url_that_needs_tls_names_the_feature_that_brings_it() {
    let server = Scripted::start(|_, _| None).await;
    let url = server.url.replace("http://", "https://");
    let client = Client::builder(Http::new(url))
        .reconnect(reconnect().retry_first_dial().build().unwrap())
        .connect();
    // For good, though the first dial may be tried again.
    let failure = within("a failure", client).await.unwrap_err();
    assert_eq!(failure.class(), Class::Disabled, "{}", failure.chain());
    let chain = failure.chain().to_string();
    assert!(chain.contains("`rmcp-client-https`"), "{chain}");
}
