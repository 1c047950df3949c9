//! Sessions that a server over HTTP forgets.

use super::{connect, make, none};
use crate::peer::Log;
use axum::{
    Router,
    body::Bytes,
    http::{HeaderMap, StatusCode},
    response::{IntoResponse, Response},
    routing::post,
};
use mcp_resilience::rmcp::client::Http;
use serde_json::{Value, json};
use std::sync::{
    Arc,
    atomic::{AtomicU32, Ordering::Relaxed},
};
use tokio::net::TcpListener;

/// A server that forgets its first session, and answers with this.
struct Forgetful {
    status: StatusCode,
    body: String,
    sessions: AtomicU32,
    executed: AtomicU32,
}

impl Forgetful {
    async fn start(status: u16, body: &str) -> (Arc<Self>, Http) {
        let server = Arc::new(Self {
            status: StatusCode::from_u16(status).unwrap(),
            body: body.to_owned(),
            sessions: AtomicU32::new(0),
            executed: AtomicU32::new(0),
        });
        let shared = Arc::clone(&server);
        let answer = move |headers: HeaderMap, body: Bytes| async move {
            let message = serde_json::from_slice(&body).unwrap();
            shared.answer(&headers, &message)
        };
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/mcp", listener.local_addr().unwrap());
        let router = Router::new().route("/mcp", post(answer));
        tokio::spawn(async move { axum::serve(listener, router).await });
        (server, Http::new(url))
    }

    fn answer(&self, headers: &HeaderMap, message: &Value) -> Response {
        let session = headers.get("mcp-session-id").cloned();
        let result = |result: Value| {
            let answer = json!({"jsonrpc": "2.0", "id": message["id"], "result": result});
            ([("content-type", "application/json")], answer.to_string())
        };
        match message["method"].as_str().unwrap() {
            "initialize" => {
                let number = self.sessions.fetch_add(1, Relaxed) + 1;
                let session = [("mcp-session-id", number.to_string())];
                let info = json!({
                    "protocolVersion": "2025-11-25", "capabilities": {"tools": {}},
                    "serverInfo": {"name": "forgetful", "version": "1"},
                });
                (session, result(info)).into_response()
            }
            "tools/list" => result(json!({"tools": []})).into_response(),
            "tools/call" if session.is_some_and(|session| session == "1") => {
                (self.status, self.body.clone()).into_response()
            }
            "tools/call" => {
                self.executed.fetch_add(1, Relaxed);
                let content = json!([{"type": "text", "text": "fine"}]);
                result(json!({"content": content})).into_response()
            }
            _ => StatusCode::ACCEPTED.into_response(),
        }
    }
}

#[tokio::test]
async fn case_055_a_session_that_is_gone_is_renewed_however_the_server_says_so() {
    let rpc = |message: &str| {
        let error = json!({"code": -32600, "message": message});
        json!({"jsonrpc": "2.0", "id": null, "error": error}).to_string()
    };
    let lost = [
        (404, "Session not found".to_owned()),
        (404, rpc("Session not found")),
        (404, rpc("Session terminated")),
        (400, "Session not found".to_owned()),
        (400, rpc("Bad Request: No valid session ID provided")),
        (401, "Session not found".to_owned()),
        (401, rpc("Session not found")),
        (404, "Invalid or expired session ID".to_owned()),
    ];
    for (status, body) in lost {
        let (server, http) = Forgetful::start(status, &body).await;
        let log = Log::default();
        let client = connect(http, &log).await;
        let (is_error, _) = make(&client, "book", &none()).await;
        assert!(!is_error, "{status} {body}: {}", log.line());
        let line = log.line();
        assert_eq!(
            line["retries"][0]["class"], "session_lost",
            "{status} {body}"
        );
        assert_eq!(server.executed.load(Relaxed), 1);
        assert_eq!(server.sessions.load(Relaxed), 2);
    }
    // A similar text is a refusal, and does not end the session.
    let refused = [
        (401, String::new(), "unauthorized"),
        (
            401,
            "the session key is not valid".to_owned(),
            "unauthorized",
        ),
        (
            401,
            "Session not found in your plan".to_owned(),
            "unauthorized",
        ),
        (403, "no".to_owned(), "forbidden"),
    ];
    for (status, body, class) in refused {
        let (server, http) = Forgetful::start(status, &body).await;
        let log = Log::default();
        let client = connect(http, &log).await;
        assert!(make(&client, "book", &none()).await.0);
        assert_eq!(log.line()["class"], class, "{body}");
        assert_eq!(server.executed.load(Relaxed), 0);
        assert_eq!(server.sessions.load(Relaxed), 1);
    }
}
