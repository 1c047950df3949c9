use crate::call::{IdempotencyKey, InvalidKey};
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

/// How many keys wait for their requests. Those of requests that tower-mcp refuses are never taken, so
/// that the oldest go. It is far above the number of requests that wait at one time.
const MOST: usize = 1 << 14;

/// All names of a key contain this, in any case.
const NAME: &[u8] = b"idempotency";

type Key = Result<IdempotencyKey, InvalidKey>;

/// What comes on a line.
#[derive(Deserialize)]
#[serde(untagged)]
enum Line {
    Batch(Vec<Value>),
    One(Value),
}

/// The keys in `_meta` of the requests that come over stdio.
///
/// tower-mcp keeps only the known members of `_meta`, so the keys are read before it.
#[derive(Clone, Default)]
pub(super) struct Keys(Arc<Mutex<VecDeque<(RequestId, Key)>>>);

impl Keys {
    /// The key that came with a request.
    pub(super) fn take(&self, id: &RequestId) -> Option<Key> {
        let mut keys = self.keys();
        let at = keys.iter().position(|(of, _)| of == id)?;
        keys.remove(at).map(|(_, key)| key)
    }

    /// A reader that also finds keys.
    pub(super) fn reading<R>(&self, reader: R) -> KeyReader<R> {
        KeyReader {
            reader,
            keys: self.clone(),
            line: Vec::new(),
        }
    }

    fn note(&self, line: &[u8]) {
        if !has_name(line) {
            return;
        }
        match serde_json::from_slice(line) {
            Ok(Line::Batch(batch)) => batch.iter().for_each(|request| self.note_one(request)),
            Ok(Line::One(request)) => self.note_one(&request),
            // tower-mcp cannot read it either.
            Err(_) => {}
        }
    }

    fn note_one(&self, request: &Value) {
        let id = &request["id"];
        let id = match (id.as_str(), id.as_i64()) {
            (Some(text), _) => RequestId::String(text.to_owned()),
            (None, Some(number)) => RequestId::Number(number),
            (None, None) => return,
        };
        let meta = request["params"]["_meta"].as_object();
        if let Some(key) = IdempotencyKey::of_request(meta, None) {
            let mut keys = self.keys();
            if keys.len() == MOST {
                keys.pop_front();
            }
            keys.push_back((id, key));
        }
    }

    fn keys(&self) -> MutexGuard<'_, VecDeque<(RequestId, Key)>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn has_name(line: &[u8]) -> bool {
    let mut windows = line.windows(NAME.len());
    windows.any(|window| window.eq_ignore_ascii_case(NAME))
}

/// Passes on what it reads, and notes the keys first.
pub(super) struct KeyReader<R> {
    reader: R,
    keys: Keys,
    // The current line so far.
    line: Vec<u8>,
}

impl<R: AsyncRead + Unpin> AsyncRead for KeyReader<R> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        ready!(Pin::new(&mut self.reader).poll_read(cx, buffer))?;
        let Self { keys, line, .. } = &mut *self;
        if buffer.filled().len() == before && buffer.remaining() > 0 {
            // The end, also of a last line without its newline.
            keys.note(line);
            line.clear();
        }
        for part in buffer.filled()[before..].split_inclusive(|byte| *byte == b'\n') {
            // Not bounded, because tower-mcp keeps the whole line too.
            line.extend_from_slice(part);
            if part.ends_with(b"\n") {
                keys.note(line);
                line.clear();
            }
        }
        Poll::Ready(Ok(()))
    }
}

#[cfg(test)]
mod tests {
    use super::{Key, Keys, MOST};
    use crate::call::{InvalidKey, KEY_META};
    use ::tower_mcp::protocol::RequestId;
    use serde_json::{Value, json};
    use tokio::io::{AsyncReadExt, BufReader};

    fn call(id: &Value, meta: &Value) -> String {
        let params = json!({"name": "book", "_meta": meta});
        let call = json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params});
        format!("{call}\n")
    }

    /// Reads lines in pieces. Returns the rest and the keys.
    async fn read(lines: &str) -> Keys {
        let keys = Keys::default();
        let mut reader = BufReader::with_capacity(7, keys.reading(lines.as_bytes()));
        let mut text = String::new();
        reader.read_to_string(&mut text).await.expect("a text");
        assert_eq!(text, lines);
        keys
    }

    fn text(key: Option<Key>) -> Option<String> {
        Some(key?.expect("a key").as_str().to_owned())
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
        ];
        let keys = read(&lines.concat()).await;
        assert_eq!(
            text(keys.take(&RequestId::Number(1))).as_deref(),
            Some("order-1")
        );
        assert_eq!(keys.take(&RequestId::Number(1)), None, "it is taken once");
        let id = RequestId::String("1".to_owned());
        assert_eq!(text(keys.take(&id)).as_deref(), Some("order-2"));
        assert_eq!(keys.take(&RequestId::Number(2)), None);
        for id in [8, 9] {
            let of_batch = text(keys.take(&RequestId::Number(id)));
            assert_eq!(of_batch, Some(format!("order-{id}")));
        }
        let refused = keys.take(&RequestId::Number(3));
        assert_eq!(refused, Some(Err(InvalidKey::NotAString)));
    }

    #[tokio::test]
    async fn the_key_of_a_last_line_without_its_newline_is_found_too() {
        let line = call(&json!(1), &json!({KEY_META: "order-1"}));
        let keys = read(line.trim_end()).await;
        let key = text(keys.take(&RequestId::Number(1)));
        assert_eq!(key.as_deref(), Some("order-1"));
    }

    #[tokio::test]
    async fn keys_that_nobody_takes_are_bounded() {
        let lines = (0..=MOST).map(|id| call(&json!(id), &json!({KEY_META: "order"})));
        let keys = read(&lines.collect::<String>()).await;
        assert_eq!(keys.take(&RequestId::Number(0)), None);
        assert!(keys.take(&RequestId::Number(1)).is_some());
    }
}
