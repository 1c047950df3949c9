use crate::{json, rmcp::wire::raw, text::first};
use ::rmcp::{
    ErrorData,
    model::{
        ClientJsonRpcMessage, ClientRequest, CustomRequest, ErrorCode, JsonObject, RequestId,
        RequestMetaObject,
    },
};
use serde_json::{Map, Value};

/// The longest part of a method in an answer, in bytes.
const METHOD: usize = 64;

/// The error in a request, found in its text.
#[derive(Clone, Debug)]
pub(in crate::rmcp::server) struct Refused {
    pub(in crate::rmcp::server) code: ErrorCode,
    pub(in crate::rmcp::server) problem: String,
}

impl Refused {
    /// The message itself is invalid.
    pub(super) fn request(problem: impl Into<String>) -> Self {
        Self {
            code: ErrorCode::INVALID_REQUEST,
            problem: problem.into(),
        }
    }

    /// Its parameters are invalid.
    pub(super) fn params(method: &str, problem: &str) -> Self {
        Self::invalid_params(format!("{}: {problem}", first(method, METHOD)))
    }

    /// The same, with the method named already.
    pub(super) fn invalid_params(problem: String) -> Self {
        Self {
            code: ErrorCode::INVALID_PARAMS,
            problem,
        }
    }

    /// The answer, with an id as the client wrote it.
    pub(super) fn answer(self, id: &str) -> Vec<u8> {
        let error = ErrorData::new(self.code, self.problem, None);
        answer(id, "error", &error)
    }

    /// A call that goes through the stack to be refused there, so that it leaves its line in the log.
    pub(super) fn call(
        self,
        id: RequestId,
        method: &str,
        params: Option<&str>,
    ) -> ClientJsonRpcMessage {
        let mut params = params.map(readable);
        let meta = params.as_mut().and_then(|params| params.remove("_meta"));
        let mut request = CustomRequest::new(method, params.map(Value::Object));
        if let Some(Value::Object(meta)) = meta {
            request.extensions.insert(RequestMetaObject::from(meta));
        }
        request.extensions.insert(self);
        ClientJsonRpcMessage::request(ClientRequest::CustomRequest(request), id)
    }
}

/// The readable members, for the log.
fn readable(params: &str) -> JsonObject {
    let members = raw::members(params);
    let read = members.iter().filter_map(|(name, value)| {
        let value = json::read(value).ok()?;
        Some((name.to_owned(), value))
    });
    read.collect::<Map<_, _>>()
}

/// An answer on one line, with an id as the client wrote it.
pub(super) fn answer(id: &str, name: &str, body: &impl serde::Serialize) -> Vec<u8> {
    let mut line = format!(r#"{{"jsonrpc":"2.0","id":{id},"{name}":"#).into_bytes();
    let begin = line.len();
    if serde_json::to_writer(&mut line, body).is_err() {
        line.truncate(begin);
        line.extend_from_slice(b"null");
    }
    line.extend_from_slice(b"}\n");
    line
}
