use super::MS;
use axum::{
    Router,
    body::{Body, Bytes},
    extract::State,
    http::{HeaderMap, HeaderValue, Method, StatusCode, header::CONTENT_TYPE},
    response::Response,
};
use futures_util::{StreamExt, stream};
use serde_json::{Value, json};
use std::{
    io,
    sync::{Arc, Mutex},
};
use tokio::task::JoinHandle;

/// One request, as the server saw it.
#[derive(Clone, Debug)]
pub(crate) struct Seen {
    pub(crate) verb: Method,
    pub(crate) headers: HeaderMap,
    pub(crate) message: Value,
}

impl Seen {
    pub(crate) fn method(&self) -> &str {
        self.message["method"].as_str().unwrap_or("")
    }
}

type Script = Arc<dyn Fn(&Seen, usize) -> Option<Response> + Send + Sync>;

/// A server over HTTP whose answers are made by a test: to what it leaves alone, good ones.
pub(crate) struct Scripted {
    pub(crate) url: String,
    seen: Arc<Mutex<Vec<Seen>>>,
    serving: JoinHandle<()>,
}

impl Scripted {
    /// The script gets each request, and how many of its method there were before.
    pub(crate) async fn start(
        script: impl Fn(&Seen, usize) -> Option<Response> + Send + Sync + 'static,
    ) -> Self {
        let seen = Arc::<Mutex<Vec<Seen>>>::default();
        let script: Script = Arc::new(script);
        let router = Router::new()
            .fallback(answer)
            .with_state((script, Arc::clone(&seen)));
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/mcp", listener.local_addr().unwrap());
        let serving = tokio::spawn(async move { axum::serve(listener, router).await.unwrap() });
        Self { url, seen, serving }
    }

    pub(crate) fn seen(&self) -> Vec<Seen> {
        self.seen.lock().unwrap().clone()
    }

    /// How many requests of a method there were.
    pub(crate) fn count(&self, method: &str) -> usize {
        self.seen()
            .iter()
            .filter(|seen| seen.method() == method)
            .count()
    }
}

impl Drop for Scripted {
    fn drop(&mut self) {
        self.serving.abort();
    }
}

async fn answer(
    State((script, all)): State<(Script, Arc<Mutex<Vec<Seen>>>)>,
    verb: Method,
    headers: HeaderMap,
    body: Bytes,
) -> Response {
    let message = serde_json::from_slice(&body).unwrap_or_default();
    let seen = Seen {
        verb,
        headers,
        message,
    };
    let before = {
        let mut all = all.lock().unwrap();
        let before = all
            .iter()
            .filter(|other| other.method() == seen.method() && other.verb == seen.verb);
        let before = before.count();
        all.push(seen.clone());
        before
    };
    if let Some(response) = script(&seen, before) {
        return response;
    }
    let id = &seen.message["id"];
    match seen.method() {
        "initialize" => result(
            id,
            &json!({
                "protocolVersion": "2025-11-25",
                "capabilities": {"tools": {}, "resources": {}},
                "serverInfo": {"name": "scripted", "version": "1"},
            }),
        ),
        "tools/list" => result(
            id,
            &json!({"tools": [
                {"name": "book", "inputSchema": {"type": "object"}},
                {"name": "look", "inputSchema": {"type": "object"}, "annotations": {"readOnlyHint": true}},
            ]}),
        ),
        "tools/call" => result(id, &json!({"content": [{"type": "text", "text": "fine"}]})),
        _ if seen.verb == Method::GET => status(405),
        _ => status(202),
    }
}

/// An answer to a request.
pub(crate) fn result(id: &Value, result: &Value) -> Response {
    json_body(&json!({"jsonrpc": "2.0", "id": id, "result": result}))
}

/// An answer that is a JSON-RPC error, with a status.
pub(crate) fn error(id: &Value, code: u16, error: &Value) -> Response {
    let mut response = json_body(&json!({"jsonrpc": "2.0", "id": id, "error": error}));
    *response.status_mut() = StatusCode::from_u16(code).unwrap();
    response
}

pub(crate) fn json_body(body: &Value) -> Response {
    let response = Response::builder().header(CONTENT_TYPE, "application/json");
    response.body(Body::from(body.to_string())).unwrap()
}

/// A stream of events, open to its end.
pub(crate) fn events(body: Body) -> Response {
    let response = Response::builder().header(CONTENT_TYPE, "text/event-stream");
    response.body(body).unwrap()
}

/// How a body ends.
#[derive(Clone, Copy, Debug)]
pub(crate) enum BodyEnd {
    InOrder,
    BreaksOff,
    Never,
}

/// Any response; it has no content type if that is empty.
pub(crate) fn response(
    status: u16,
    content_type: &str,
    body: impl Into<Bytes>,
    end: BodyEnd,
) -> Response {
    let body = stream::iter([Ok::<Bytes, io::Error>(body.into())]);
    let body = match end {
        BodyEnd::InOrder => Body::from_stream(body),
        BodyEnd::BreaksOff => Body::from_stream(body.chain(stream::once(async {
            // The body first, so that it is not lost with its end.
            tokio::time::sleep(50 * MS).await;
            Err(io::Error::other("broken off"))
        }))),
        BodyEnd::Never => Body::from_stream(body.chain(stream::pending())),
    };
    let mut response = Response::new(body);
    *response.status_mut() = StatusCode::from_u16(status).unwrap();
    if !content_type.is_empty() {
        let content_type = HeaderValue::from_str(content_type).unwrap();
        response.headers_mut().insert(CONTENT_TYPE, content_type);
    }
    response
}

pub(crate) fn status(code: u16) -> Response {
    Response::builder()
        .status(code)
        .body(Body::empty())
        .unwrap()
}
