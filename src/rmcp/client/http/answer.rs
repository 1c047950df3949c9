//! What the body of a response says.

use super::HttpError;
use crate::{
    failure::{RpcError, first},
    json,
    rmcp::client::wire::{Asked, Found, LONGEST, Unread, Unreadable, read as read_text},
};
use ::rmcp::model::ServerJsonRpcMessage;
use futures_util::StreamExt;
use reqwest::Response;
use serde_json::Value;
use std::time::Duration;
use tokio::time::timeout;

/// How much of the body of a refusal is looked at.
const REFUSAL: usize = 64 * 1024;

/// How long it may take to come: what the status says is known already.
const PROMPT: Duration = Duration::from_secs(1);

/// And how much of it is kept, if it is only a text.
const TEXT: usize = 256;

/// The messages of a body that answers a request: the answer is the last of them, and there is one. A
/// whole body without an answer is one that says so. The type of the body only explains why.
///
/// # Errors
///
/// When the body breaks off.
pub(super) async fn messages(
    response: Response,
    is_json: bool,
    asked: &Asked,
    unread: &Unread,
) -> Result<Vec<ServerJsonRpcMessage>, HttpError> {
    let body = read(response, LONGEST).await?;
    let Some(body) = body.whole() else {
        let text = String::from_utf8_lossy(&body.bytes);
        let unreadable = Unreadable::of_length("it is longer than 16 MiB", &text, body.length);
        return Ok(vec![unreadable.answer(asked)]);
    };
    let (mut messages, mut answer, mut aside, mut why) = (Vec::new(), None, None, None);
    for found in read_text(body, &mut &*asked) {
        match found {
            Found::Message(message) => messages.push(message),
            Found::Answer { message, .. } if answer.is_none() => answer = Some(message),
            Found::Answer { .. } => {}
            Found::Foreign => why = why.or(Some("it is the answer to another request")),
            Found::Unreadable(unreadable) => aside = Some(unreadable),
        }
    }
    match (aside, &answer) {
        (Some(unreadable), Some(_)) => unread.tell(unreadable),
        (Some(unreadable), None) if is_json && why.is_none() => {
            answer = Some(unreadable.answer(asked));
        }
        (Some(_), None) if why.is_none() => why = Some("it is neither json nor events"),
        _ => {}
    }
    messages.push(answer.unwrap_or_else(|| {
        let why = match why {
            Some(why) => why,
            None if body.is_empty() => "it is empty",
            None => "there is no answer in it",
        };
        Unreadable::new(why, &String::from_utf8_lossy(body)).answer(asked)
    }));
    Ok(messages)
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
    let Ok(Ok(body)) = timeout(PROMPT, read(response, REFUSAL)).await else {
        return Said::default();
    };
    let Some(bytes) = body.whole() else {
        return Said::default();
    };
    let text = String::from_utf8_lossy(bytes);
    let body = json::read(&text).ok().filter(Value::is_object);
    let error = body.as_ref().and_then(error);
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

/// A body, or the beginning of one that is too long.
struct Body {
    bytes: Vec<u8>,
    length: usize,
}

impl Body {
    fn whole(&self) -> Option<&[u8]> {
        (self.length == self.bytes.len()).then_some(&*self.bytes)
    }
}

/// Reads a body until it is longer than that.
async fn read(response: Response, longest: usize) -> Result<Body, HttpError> {
    let mut bytes = Vec::new();
    let mut chunks = response.bytes_stream();
    while let Some(chunk) = chunks.next().await {
        let chunk = chunk?;
        let length = bytes.len() + chunk.len();
        if length > longest {
            return Ok(Body { bytes, length });
        }
        bytes.extend_from_slice(&chunk);
    }
    let length = bytes.len();
    Ok(Body { bytes, length })
}
