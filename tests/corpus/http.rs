//! The same answers from a server over HTTP: a socket that writes the bytes of a file.

use crate::{
    answer::calls,
    case::{Case, Expected, HttpAnswer, Input, repeated},
    stack::only_once,
};
use mcp_resilience::{
    Failure,
    call::{Hints, ToolCall, ToolResult},
    classify::ClassifyLayer,
    rmcp::{
        Answer,
        client::{ClientCall, Http},
    },
};
use rmcp::model::CallToolRequestParams;
use serde_json::{Map, Value, json};
use std::fmt::Write;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
};
use tower::{ServiceBuilder, ServiceExt};

pub(crate) async fn check(case: &Case) -> Vec<Result<(), String>> {
    let ok = |key: &str, value: Value| HttpAnswer {
        status: 200,
        headers: Map::new(),
        body: json!({"jsonrpc": "2.0", "id": "@id", key: value}),
        session: false,
    };
    let answer = match &case.input {
        Input::Result(result) => ok("result", result.clone()),
        Input::Error(error) => ok("error", json!(error)),
        Input::Http(answer) => answer.clone(),
        Input::Typed(_) => return Vec::new(),
    };
    let [any, twice] = calls().map(|call| call.hints());
    let (any, twice) = (call(&answer, any).await, call(&answer, twice).await);
    let seen_otherwise = case.by_http.as_ref().or(case.by_rmcp.as_ref());
    let expected = seen_otherwise.unwrap_or(&case.expect);
    vec![match (any, twice) {
        (Err(any), Err(twice)) => case.compare(expected, &any, repeated(&any, &twice)),
        (Ok(any), Ok(_)) => match expected {
            Expected::Failure { .. } => Err("it is no failure".to_owned()),
            Expected::Interim { .. } if any.is_interim() => Ok(()),
            Expected::Success { .. } | Expected::Flagged { .. } if !any.is_error() => Ok(()),
            _ => Err(format!("{any:?}")),
        },
        _ => Err("what it is depends on the tool".to_owned()),
    }]
}

/// Calls a new server once.
async fn call(answer: &HttpAnswer, hints: Hints) -> Result<Answer, Failure> {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/mcp", listener.local_addr().unwrap());
    let answer = answer.clone();
    let server = tokio::spawn(async move {
        loop {
            let (socket, _) = listener.accept().await.unwrap();
            let answer = answer.clone();
            tokio::spawn(async move { serve(socket, &answer).await });
        }
    });
    let connection = Http::new(url).oneshot(()).await.unwrap();
    let call = ClientCall::new(CallToolRequestParams::new("book"), hints);
    let answered = ServiceBuilder::new()
        .layer(only_once())
        .layer(ClassifyLayer::new())
        .service(connection)
        .oneshot(call)
        .await;
    server.abort();
    answered
}

/// Answers the one request of a connection.
async fn serve(mut socket: TcpStream, answer: &HttpAnswer) {
    let Some((method, message)) = read(&mut socket).await else {
        return;
    };
    let mut headers = Map::new();
    if answer.session {
        headers.insert("Mcp-Session-Id".to_owned(), json!("s-1"));
    }
    let mut status = 200;
    let body = match (method.as_str(), message["method"].as_str()) {
        ("POST", Some("initialize")) => json!({
            "protocolVersion": message["params"]["protocolVersion"],
            "capabilities": {"tools": {}},
            "serverInfo": {"name": "corpus", "version": "1"},
        }),
        ("POST", Some("tools/list")) => json!({"tools": []}),
        ("POST", Some("tools/call")) => {
            headers.extend(answer.headers.clone());
            let mut body = answer.body.clone();
            if body["id"] == "@id" {
                body["id"] = message["id"].clone();
            }
            let body = match body {
                Value::String(text) => text,
                json => json.to_string(),
            };
            return send(&mut socket, answer.status, &headers, &body).await;
        }
        ("POST", _) => {
            status = 202;
            Value::Null
        }
        ("DELETE", _) => Value::Null,
        _ => {
            status = 405;
            Value::Null
        }
    };
    let body = json!({"jsonrpc": "2.0", "id": message["id"], "result": body}).to_string();
    let body = if status == 200 { &body } else { "" };
    send(&mut socket, status, &headers, body).await;
}

/// The method of a request, and its body.
async fn read(socket: &mut TcpStream) -> Option<(String, Value)> {
    let mut bytes = Vec::new();
    loop {
        let mut chunk = [0; 4096];
        let count = socket
            .read(&mut chunk)
            .await
            .ok()
            .filter(|count| *count > 0)?;
        bytes.extend_from_slice(&chunk[..count]);
        let mut headers = [httparse::EMPTY_HEADER; 32];
        let mut request = httparse::Request::new(&mut headers);
        let Ok(httparse::Status::Complete(head)) = request.parse(&bytes) else {
            continue;
        };
        let mut headers = request.headers.iter();
        let length = headers.find(|header| header.name.eq_ignore_ascii_case("content-length"));
        let length = length.map_or(0, |header| {
            std::str::from_utf8(header.value).unwrap().parse().unwrap()
        });
        if bytes.len() >= head + length {
            let method = request.method?.to_owned();
            let body = serde_json::from_slice(&bytes[head..head + length]);
            return Some((method, body.unwrap_or_default()));
        }
    }
}

async fn send(socket: &mut TcpStream, status: u16, headers: &Map<String, Value>, body: &str) {
    let mut head = format!("HTTP/1.1 {status} Seen\r\nConnection: close\r\n");
    if !headers.contains_key("Content-Type") {
        head.push_str("Content-Type: application/json\r\n");
    }
    for (name, value) in headers {
        write!(head, "{name}: {}\r\n", value.as_str().unwrap()).unwrap();
    }
    write!(head, "Content-Length: {}\r\n\r\n{body}", body.len()).unwrap();
    // The client may be gone.
    let _ = socket.write_all(head.as_bytes()).await;
    let _ = socket.shutdown().await;
}
