//! Reads the body of a response.

use super::HttpError;
use crate::rmcp::{
    client::wire::{Asked, Found, LONGEST, Unread, Unreadable, read as read_text},
    wire::is_whole,
};
use ::rmcp::model::ServerJsonRpcMessage;
use futures_util::StreamExt;
use reqwest::Response;
use std::time::Duration;
use tokio::time::timeout;

/// How much of a body is read that may be empty.
pub(super) const SHORT: usize = 64 * 1024;

/// How long such a body may take: the status has its meaning already.
pub(super) const PROMPT: Duration = Duration::from_secs(1);

/// After this time without a further byte, a body is examined: some servers never end theirs.
pub(super) const SILENCE: Duration = Duration::from_millis(200);

/// The messages of a body that answers a request: the answer is the last of them, and there is one. A
/// complete body without an answer gives an answer that says so. The content type only helps to
/// explain why.
///
/// # Errors
///
/// If the body breaks off before an answer in it is complete.
pub(super) async fn messages(
    response: Response,
    is_json: bool,
    asked: &Asked,
    unread: &Unread,
) -> Result<Vec<ServerJsonRpcMessage>, HttpError> {
    let has_answer = |bytes: &[u8]| is_whole(bytes) && is_answered(bytes, asked);
    let body = read(response, LONGEST, has_answer).await?;
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

/// The messages of a body that may be an answer to the request: the answer is the last of them.
pub(super) async fn accepted(
    response: Response,
    asked: &Asked,
) -> Option<Vec<ServerJsonRpcMessage>> {
    let has_answer = |bytes: &[u8]| is_whole(bytes) && is_answered(bytes, asked);
    let body = timeout(PROMPT, read(response, SHORT, has_answer)).await;
    let body = body.ok()?.ok()?;
    let (mut messages, mut answer) = (Vec::new(), None);
    for found in read_text(body.whole()?, &mut &*asked) {
        match found {
            Found::Message(message) => messages.push(message),
            Found::Answer { message, .. } if !Unreadable::is(&message) => {
                answer = answer.or(Some(message));
            }
            _ => {}
        }
    }
    messages.push(answer?);
    Some(messages)
}

fn is_answered(bytes: &[u8], asked: &Asked) -> bool {
    let found = read_text(bytes, &mut &*asked);
    found
        .iter()
        .any(|found| matches!(found, Found::Answer { .. }))
}

/// A body, or the beginning of one that is too long.
pub(super) struct Body {
    bytes: Vec<u8>,
    length: usize,
}

impl Body {
    pub(super) fn whole(&self) -> Option<&[u8]> {
        (self.length == self.bytes.len()).then_some(&*self.bytes)
    }
}

/// Reads a body up to a length. If that is enough, the rest may break off or be silent.
pub(super) async fn read(
    response: Response,
    longest: usize,
    is_enough: impl Fn(&[u8]) -> bool,
) -> Result<Body, HttpError> {
    let mut bytes = Vec::new();
    let mut looked_at = 0;
    let mut chunks = response.bytes_stream();
    loop {
        let next = chunks.next();
        let chunk = if looked_at < bytes.len() {
            let Ok(chunk) = timeout(SILENCE, next).await else {
                looked_at = bytes.len();
                if is_enough(&bytes) {
                    break;
                }
                continue;
            };
            chunk
        } else {
            next.await
        };
        let chunk = match chunk {
            Some(Ok(chunk)) => chunk,
            Some(Err(_)) if is_enough(&bytes) => break,
            Some(Err(error)) => return Err(error.into()),
            None => break,
        };
        let length = bytes.len() + chunk.len();
        if length > longest {
            return Ok(Body { bytes, length });
        }
        bytes.extend_from_slice(&chunk);
    }
    let length = bytes.len();
    Ok(Body { bytes, length })
}
