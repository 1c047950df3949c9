use crate::call::{IdempotencyKey, InvalidKey, Method};
use ::tower_mcp::protocol::RequestId;
use serde::Deserialize;
use serde_json::Value;
use std::{
    collections::VecDeque,
    io,
    pin::Pin,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    task::{Context, Poll, ready},
};
use tokio::io::{AsyncRead, ReadBuf};

/// How many calls may wait for their turn. If there are more, the oldest are forgotten.
const MOST: usize = 1 << 14;

/// All names of a key contain this, in any case.
const NAME: &[u8] = b"idempotency";

/// The calls that came over stdio and have not reached the stack, as they were written.
///
/// tower-mcp keeps only the known members of `_meta`, and answers a call by itself that it cannot
/// read. So the calls are noted before it.
#[derive(Clone, Default)]
pub(super) struct Incoming(Arc<Mutex<VecDeque<Came>>>);

/// A call as it was written.
#[derive(Debug)]
pub(super) struct Came {
    id: RequestId,
    request: Vec<u8>,
}

#[derive(Deserialize)]
struct Head {
    id: RequestId,
    method: String,
}

impl Came {
    /// The key in its `_meta`.
    pub(super) fn key(&self) -> Option<Result<IdempotencyKey, InvalidKey>> {
        let mut windows = self.request.windows(NAME.len());
        if !windows.any(|window| window.eq_ignore_ascii_case(NAME)) {
            return None;
        }
        let request = self.read();
        IdempotencyKey::of_request(request["params"]["_meta"].as_object(), None)
    }

    /// The request, which was read once already.
    pub(super) fn read(&self) -> Value {
        serde_json::from_slice(&self.request).unwrap_or_default()
    }

    pub(super) fn id(&self) -> &RequestId {
        &self.id
    }
}

impl Incoming {
    /// The call with this id, which has come to the stack or has its answer.
    pub(super) fn take(&self, id: &RequestId) -> Option<Came> {
        let mut calls = self.calls();
        let at = calls.iter().position(|call| call.id == *id)?;
        calls.remove(at)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.calls().is_empty()
    }

    /// A reader that also notes the calls.
    pub(super) fn reading<R>(&self, reader: R) -> IncomingReader<R> {
        IncomingReader {
            reader,
            incoming: self.clone(),
            line: Vec::new(),
        }
    }

    fn note(&self, line: Vec<u8>) {
        if line.trim_ascii_start().first() != Some(&b'[') {
            return self.note_one(line);
        }
        // tower-mcp cannot read it either, if it is no JSON.
        let batch: Vec<Value> = serde_json::from_slice(&line).unwrap_or_default();
        for request in batch {
            self.note_one(request.to_string().into_bytes());
        }
    }

    fn note_one(&self, request: Vec<u8>) {
        let Ok(Head { id, method }) = serde_json::from_slice(&request) else {
            return;
        };
        if Method::of_name(&method).is_none() {
            return;
        }
        let mut calls = self.calls();
        if calls.len() == MOST {
            calls.pop_front();
        }
        calls.push_back(Came { id, request });
    }

    fn calls(&self) -> MutexGuard<'_, VecDeque<Came>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Passes on what it reads, and notes the calls first.
pub(super) struct IncomingReader<R> {
    reader: R,
    incoming: Incoming,
    // The current line so far.
    line: Vec<u8>,
}

impl<R: AsyncRead + Unpin> AsyncRead for IncomingReader<R> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        ready!(Pin::new(&mut self.reader).poll_read(cx, buffer))?;
        let Self { incoming, line, .. } = &mut *self;
        if buffer.filled().len() == before && buffer.remaining() > 0 {
            // The end, also of a last line without its newline.
            incoming.note(std::mem::take(line));
        }
        for part in buffer.filled()[before..].split_inclusive(|byte| *byte == b'\n') {
            // As long as it is: tower-mcp keeps all of it, too.
            line.extend_from_slice(part);
            if part.ends_with(b"\n") {
                incoming.note(std::mem::take(line));
            }
        }
        Poll::Ready(Ok(()))
    }
}

#[cfg(test)]
mod tests {
    use super::{Incoming, MOST};
    use crate::call::{IdempotencyKey, InvalidKey, KEY_META};
    use ::tower_mcp::protocol::RequestId;
    use serde_json::{Value, json};
    use tokio::io::{AsyncReadExt, BufReader};

    fn call(id: &Value, meta: &Value) -> String {
        let params = json!({"name": "book", "_meta": meta});
        let call = json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params});
        format!("{call}\n")
    }

    /// Reads lines in pieces.
    async fn read(lines: &str) -> Incoming {
        let incoming = Incoming::default();
        let mut reader = BufReader::with_capacity(7, incoming.reading(lines.as_bytes()));
        let mut text = String::new();
        reader.read_to_string(&mut text).await.expect("a text");
        assert_eq!(text, lines);
        incoming
    }

    /// The key of a call that came.
    fn key(incoming: &Incoming, id: &RequestId) -> Option<Result<IdempotencyKey, InvalidKey>> {
        incoming.take(id)?.key()
    }

    fn text(incoming: &Incoming, id: &RequestId) -> Option<String> {
        Some(key(incoming, id)?.expect("a key").as_str().to_owned())
    }

    #[tokio::test]
    async fn keys_are_found_by_the_ids_of_their_requests() {
        let lines = [
            call(&json!(1), &json!({KEY_META: "order-1"})),
            call(&json!("1"), &json!({"idempotencyKey": "order-2"})),
            call(&json!(2), &json!({"progressToken": "idempotency"})),
            "no JSON with idempotency\n".to_owned(),
            format!(
                "[{},{}]\n",
                call(&json!(8), &json!({KEY_META: "order-8"})).trim_end(),
                call(&json!(9), &json!({KEY_META: "order-9"})).trim_end(),
            ),
            call(&json!(3), &json!({KEY_META: 5})),
            call(&json!(4.0), &json!({KEY_META: "order-4"})),
        ];
        let came = read(&lines.concat()).await;
        let first = RequestId::Number(1);
        assert_eq!(text(&came, &first).as_deref(), Some("order-1"));
        assert!(came.take(&first).is_none(), "it is taken once");
        let id = RequestId::String("1".to_owned());
        assert_eq!(text(&came, &id).as_deref(), Some("order-2"));
        assert_eq!(key(&came, &RequestId::Number(2)), None);
        for id in [8, 9] {
            let of_batch = text(&came, &RequestId::Number(id));
            assert_eq!(of_batch, Some(format!("order-{id}")));
        }
        let refused = key(&came, &RequestId::Number(3));
        assert_eq!(refused, Some(Err(InvalidKey::NotAString)));
        let whole = text(&came, &RequestId::Number(4));
        assert_eq!(whole.as_deref(), Some("order-4"));
    }

    #[tokio::test]
    async fn the_key_of_a_last_line_without_its_newline_is_found_too() {
        let line = call(&json!(1), &json!({KEY_META: "order-1"}));
        let came = read(line.trim_end()).await;
        let key = text(&came, &RequestId::Number(1));
        assert_eq!(key.as_deref(), Some("order-1"));
    }

    #[tokio::test]
    async fn calls_that_nobody_takes_are_bounded() {
        let lines = (0..=MOST).map(|id| call(&json!(id), &json!({KEY_META: "order"})));
        let came = read(&lines.collect::<String>()).await;
        assert!(came.take(&RequestId::Number(0)).is_none());
        assert!(came.take(&RequestId::Number(1)).is_some());
    }
}
