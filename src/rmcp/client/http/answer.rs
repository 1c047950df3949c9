//! Whether an answer belongs to the request that was made.

use super::HttpError;
use crate::failure::{RpcError, first};
use ::rmcp::model::{RequestId, ServerJsonRpcMessage};
use futures_util::StreamExt;
use reqwest::Response;
use serde_json::{Map, Number, Value};
use std::time::Duration;
use tokio::time::timeout;

/// The longest body that is read: as rmcp's own client does it.
const LONGEST: usize = 16 * 1024 * 1024;

/// How much of the body of a refusal is looked at.
const REFUSAL: usize = 64 * 1024;

/// How long it may take to come: what the status says is known already.
const PROMPT: Duration = Duration::from_secs(1);

/// And how much of it is kept, if it is only a text.
const TEXT: usize = 256;

/// The message of a JSON body.
pub(super) async fn message(
    response: Response,
    asked: Option<&RequestId>,
) -> Result<Option<ServerJsonRpcMessage>, HttpError> {
    let Some(body) = read(response, LONGEST).await? else {
        return Err(HttpError::Answer("it is longer than 16 MiB"));
    };
    if body.is_empty() {
        return Ok(None);
    }
    let body: Value = serde_json::from_slice(&body).map_err(HttpError::Message)?;
    let Value::Object(mut message) = body else {
        return Err(HttpError::Answer("it is no json-rpc message"));
    };
    if asked.is_some_and(|asked| !correlate(&mut message, asked)) {
        return Err(HttpError::Answer(
            "it has the id of another request, or none",
        ));
    }
    serde_json::from_value(Value::Object(message))
        .map(Some)
        .map_err(HttpError::Message)
}

/// Whether a message may go on: it is none that ends a call, or it ends this one. An error without
/// an id is the only one there can be: a request over HTTP is alone with its answer.
pub(super) fn correlate(message: &mut Map<String, Value>, asked: &RequestId) -> bool {
    if message.contains_key("method") {
        return true;
    }
    let asked = asked.clone().into_json_value();
    if let Some(id) = message.get("id").filter(|id| !id.is_null()) {
        // A number that came back as a text is the same to rmcp.
        let number = || id.as_str()?.parse::<Number>().ok();
        return *id == asked || number().is_some_and(|number| asked == Value::Number(number));
    }
    message.insert("id".to_owned(), asked);
    message.contains_key("error")
}

/// What the body of a refusal says.
#[derive(Default)]
pub(super) struct Said {
    /// A JSON-RPC error.
    pub(super) error: Option<RpcError>,
    /// An object, that error's or another.
    pub(super) body: Option<Value>,
    /// The beginning of what is no JSON-RPC error.
    pub(super) text: Option<String>,
}

pub(super) async fn refusal(response: Response) -> Said {
    // One that breaks off, or never ends, says nothing.
    let Ok(Ok(Some(bytes))) = timeout(PROMPT, read(response, REFUSAL)).await else {
        return Said::default();
    };
    let body: Option<Value> = serde_json::from_slice(&bytes).ok();
    let body = body.filter(Value::is_object);
    let error = body.as_ref().and_then(error);
    let text = String::from_utf8_lossy(&bytes);
    Said {
        text: error.is_none().then(|| first(&text, TEXT).to_owned()),
        error,
        body,
    }
}

fn error(body: &Value) -> Option<RpcError> {
    let error = body.get("error")?;
    let code = i32::try_from(error.get("code")?.as_i64()?).ok()?;
    let message = error.get("message")?.as_str()?;
    Some(RpcError::new(code, message, error.get("data").cloned()))
}

/// The body, unless it is longer than that.
async fn read(response: Response, longest: usize) -> Result<Option<Vec<u8>>, HttpError> {
    let mut body = Vec::new();
    let mut chunks = response.bytes_stream();
    while let Some(chunk) = chunks.next().await {
        let chunk = chunk?;
        if body.len() + chunk.len() > longest {
            return Ok(None);
        }
        body.extend_from_slice(&chunk);
    }
    Ok(Some(body))
}
