use super::came::{Came, Unnamed};
use crate::call::Method;
use ::tower_mcp::{RouterRequest, protocol::RequestId};
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

/// How many calls, and how many bytes of them, may wait for their turn. If there are more, the oldest
/// are forgotten, but never the latest.
const MOST: usize = 1 << 14;
const MOST_BYTES: usize = 16 << 20;

const BYTE_ORDER_MARK: &[u8] = "\u{feff}".as_bytes();

/// The calls that came over stdio and have not reached the stack, as they were written.
///
/// tower-mcp keeps only the known members of `_meta`, and answers a call by itself that it cannot
/// read. So the calls are noted before it.
#[derive(Clone, Default)]
pub(super) struct Incoming(Arc<Mutex<Waiting>>);

#[derive(Default)]
struct Waiting {
    calls: VecDeque<Came>,
    bytes: usize,
    batches: u64,
}

#[derive(Deserialize)]
struct Head {
    id: RequestId,
    method: String,
}

impl Incoming {
    /// The call with this id, which has its answer.
    pub(super) fn take(&self, id: &RequestId) -> Option<Came> {
        self.lock().take_latest(|call| call.id == *id)
    }

    /// The call that has come to the stack with this request.
    pub(super) fn take_request(&self, request: &RouterRequest) -> Option<Came> {
        let mut waiting = self.lock();
        let has_id = |call: &Came| call.id == request.id;
        if waiting.calls.iter().filter(|call| has_id(call)).count() < 2 {
            return waiting.take_latest(has_id);
        }
        waiting.take_latest(|call| has_id(call) && call.is(request))
    }

    /// The calls of the line that has this error for its answer. tower-mcp answers such lines in their
    /// order.
    pub(super) fn take_unnamed(&self, error: Unnamed) -> Vec<Came> {
        let mut waiting = self.lock();
        let mut taken = Vec::new();
        if let Some(first) = waiting.calls.iter().position(|call| call.gets(error)) {
            let batch = waiting.calls[first].batch;
            taken.extend(waiting.take_at(first));
            while let Some(next) = waiting.calls.get(first)
                && batch.is_some()
                && next.batch == batch
            {
                taken.extend(waiting.take_at(first));
            }
        }
        taken
    }

    pub(super) fn is_empty(&self) -> bool {
        self.lock().calls.is_empty()
    }

    /// A reader that also notes the calls.
    pub(super) fn reading<R>(&self, reader: R) -> IncomingReader<R> {
        IncomingReader {
            reader,
            incoming: self.clone(),
            line: Vec::new(),
        }
    }

    fn note(&self, mut line: Vec<u8>) {
        // tower-mcp reads over it, too.
        if line.starts_with(BYTE_ORDER_MARK) {
            line.drain(..BYTE_ORDER_MARK.len());
        }
        if line.trim_ascii_start().first() != Some(&b'[') {
            return self.note_one(line, None);
        }
        let Ok(batch) = serde_json::from_slice::<Vec<Value>>(&line) else {
            return;
        };
        let number = {
            let mut waiting = self.lock();
            waiting.batches += 1;
            waiting.batches
        };
        for request in batch {
            self.note_one(request.to_string().into_bytes(), Some(number));
        }
    }

    fn note_one(&self, request: Vec<u8>, batch: Option<u64>) {
        let Ok(Head { id, method }) = serde_json::from_slice(&request) else {
            return;
        };
        if Method::of_name(&method).is_some() {
            self.lock().add(Came { id, request, batch });
        }
    }

    fn lock(&self) -> MutexGuard<'_, Waiting> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Waiting {
    fn add(&mut self, call: Came) {
        self.bytes += call.request.len();
        self.calls.push_back(call);
        while self.calls.len() > 1 && (self.calls.len() > MOST || self.bytes > MOST_BYTES) {
            self.take_at(0);
        }
    }

    fn take_latest(&mut self, is_wanted: impl Fn(&Came) -> bool) -> Option<Came> {
        let at = self.calls.iter().rposition(is_wanted)?;
        self.take_at(at)
    }

    fn take_at(&mut self, at: usize) -> Option<Came> {
        let call = self.calls.remove(at)?;
        self.bytes -= call.request.len();
        Some(call)
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
    use super::{Incoming, MOST, MOST_BYTES};
    use crate::call::{IdempotencyKey, InvalidKey, KEY_META};
    use ::tower_mcp::{
        RouterRequest,
        protocol::{McpRequest, RequestId},
        router::Extensions,
    };
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
    async fn calls_that_nobody_takes_are_bounded_in_bytes() {
        let blob = "x".repeat(MOST_BYTES / 8);
        let lines = (0..20).map(|id| call(&json!(id), &json!({"blob": blob})));
        let came = read(&lines.collect::<String>()).await;
        assert!(came.lock().bytes <= MOST_BYTES);
        assert!(came.take(&RequestId::Number(12)).is_none());
        for id in 13..20 {
            assert!(came.take(&RequestId::Number(id)).is_some(), "{id}");
        }
        assert_eq!(came.lock().bytes, 0);

        let large = call(
            &json!(1),
            &json!({"blob": "x".repeat(MOST_BYTES), KEY_META: "order-1"}),
        );
        let came = read(&large).await;
        let key = text(&came, &RequestId::Number(1));
        assert_eq!(key.as_deref(), Some("order-1"), "the only one is kept");
    }

    #[tokio::test]
    async fn a_call_never_gets_the_key_of_an_earlier_one_with_its_id() {
        let line = |title: &str, key: &str| {
            let params = json!({
                "name": "book", "arguments": {"title": title}, "_meta": {KEY_META: key},
            });
            let call = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params});
            format!("{call}\n")
        };
        let request = |title: &str| {
            let params = json!({"name": "book", "arguments": {"title": title}});
            RouterRequest {
                id: RequestId::Number(1),
                inner: McpRequest::CallTool(serde_json::from_value(params).expect("a call")),
                extensions: Extensions::new(),
            }
        };
        let lines = [
            line("Emma", "stale"),
            line("Dune", "first"),
            line("Dune", "second"),
        ];
        let came = read(&lines.concat()).await;
        let key = |title: &str| {
            let key = came.take_request(&request(title))?.key()?;
            Some(key.expect("a key").as_str().to_owned())
        };
        assert_eq!(key("Dune").as_deref(), Some("second"));
        assert_eq!(key("Emma").as_deref(), Some("stale"));
    }

    #[tokio::test]
    async fn calls_that_nobody_takes_are_bounded() {
        let lines = (0..=MOST).map(|id| call(&json!(id), &json!({KEY_META: "order"})));
        let came = read(&lines.collect::<String>()).await;
        assert!(came.take(&RequestId::Number(0)).is_none());
        assert!(came.take(&RequestId::Number(1)).is_some());
    }
}
