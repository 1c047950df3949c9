use serde_json::{Value, json};
use std::time::Duration;

/// The reply to one message.
#[derive(Debug)]
pub(crate) enum Reply {
    /// The message was not a request, so there is no answer.
    Taken,
    /// One answer, or the same one several times.
    Messages(Vec<Value>),
    /// Bytes instead of the answer.
    Raw(Vec<u8>),
    /// Invalid data, then the answer.
    Noisy(Value),
    /// The answer, after this time.
    Late(Value, Duration),
    /// No answer, ever.
    Silence,
    /// This many bytes of the answer, then the process exits.
    DieAtByte(Value, usize),
    /// A reply that exists only over HTTP.
    Http(HttpReply),
}

#[derive(Debug)]
pub(crate) enum HttpReply {
    Response(Response),
    /// This many bytes of the answer, then the connection is closed.
    CutBody(Value, usize),
    /// A stream without an answer.
    CutStream {
        priming: bool,
        torn: bool,
    },
    /// A reset instead of an answer.
    Drop,
}

/// A response with its own status.
#[derive(Debug)]
pub(crate) struct Response {
    pub(crate) status: u16,
    pub(crate) headers: Vec<(&'static str, String)>,
    pub(crate) content_type: &'static str,
    pub(crate) body: String,
    /// Whether the session is forgotten after it.
    pub(crate) forgets: bool,
}

impl Reply {
    pub(crate) fn one(message: Value) -> Self {
        Self::Messages(vec![message])
    }
}

impl From<Response> for Reply {
    fn from(response: Response) -> Self {
        Self::Http(HttpReply::Response(response))
    }
}

impl Response {
    pub(crate) fn text(status: u16, body: impl Into<String>) -> Self {
        Self {
            status,
            headers: Vec::new(),
            content_type: "text/plain",
            body: body.into(),
            forgets: false,
        }
    }

    pub(crate) fn json(status: u16, body: &Value) -> Self {
        Self {
            content_type: "application/json",
            ..Self::text(status, body.to_string())
        }
    }

    /// The page of a server without MCP.
    pub(crate) fn page() -> Self {
        Self {
            content_type: "text/html",
            ..Self::text(200, "<!doctype html><title>Hello</title><p>It works.")
        }
    }

    /// The session is unknown, as the protocol says it, or with the status alone.
    pub(crate) fn session_not_found(silent: bool) -> Self {
        let text = if silent { "" } else { "Session not found" };
        Self {
            forgets: true,
            ..Self::text(404, text)
        }
    }

    /// The session is unknown, as widespread servers say it.
    pub(crate) fn stale() -> Self {
        let message = "Bad Request: No valid session ID provided";
        let error = json!({"jsonrpc": "2.0", "error": {"code": -32000, "message": message}});
        Self {
            forgets: true,
            ..Self::json(400, &error)
        }
    }
}

pub(crate) fn result(id: &Value, result: &Value) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "result": result})
}

pub(crate) fn error(id: &Value, code: i32, message: &str) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "error": {"code": code, "message": message}})
}
