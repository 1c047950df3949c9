//! Canonical JSON for hashes: equal values have equal bytes.

use serde_json::{Map, Number, Value};
use sha2::{Digest, Sha256};

/// Up to this size, a float holds every whole number exactly.
const EXACT: f64 = 9_007_199_254_740_992.0;

/// Collects the bytes, because hashing many small pieces is slow.
pub(super) struct Canonical {
    hash: Sha256,
    piece: Vec<u8>,
}

impl Canonical {
    pub(super) fn new(hash: Sha256) -> Self {
        Self {
            hash,
            piece: Vec::with_capacity(256),
        }
    }

    pub(super) fn into_hash(mut self) -> Sha256 {
        self.hash.update(&self.piece);
        self.hash
    }

    pub(super) fn value(&mut self, value: &Value) {
        match value {
            Value::Null => self.push(b"n"),
            Value::Bool(true) => self.push(b"t"),
            Value::Bool(false) => self.push(b"f"),
            Value::Number(number) => self.number(number),
            Value::String(text) => self.text(b'"', text),
            Value::Array(items) => {
                self.begin(b'[', items.len());
                for item in items {
                    self.value(item);
                }
            }
            Value::Object(members) => self.object(members),
        }
    }

    pub(super) fn object(&mut self, members: &Map<String, Value>) {
        self.begin(b'{', members.len());
        // serde_json sorts members, unless its feature `preserve_order` is on.
        let mut sorted: Vec<_> = members.iter().collect();
        sorted.sort_unstable_by_key(|(name, _)| *name);
        for (name, value) in sorted {
            self.text(b'"', name);
            self.value(value);
        }
    }

    fn number(&mut self, number: &Number) {
        let whole = match (number.as_i64(), number.as_u64(), number.as_f64()) {
            (Some(signed), ..) => Some(i128::from(signed)),
            (_, Some(unsigned), _) => Some(unsigned.into()),
            (.., Some(float)) if float.fract() == 0.0 && float.abs() <= EXACT =>
            {
                #[expect(clippy::cast_possible_truncation, reason = "it is whole, and small")]
                Some(float as i128)
            }
            _ => None,
        };
        match whole {
            Some(whole) => self.text(b'#', itoa::Buffer::new().format(whole)),
            None => self.text(b'#', &number.to_string()),
        }
    }

    fn text(&mut self, kind: u8, text: &str) {
        self.begin(kind, text.len());
        self.push(text.as_bytes());
    }

    /// Writes a type and a length, so that no value is a prefix of another.
    fn begin(&mut self, kind: u8, length: usize) {
        self.push(&[kind]);
        self.push(&(length as u64).to_be_bytes());
    }

    fn push(&mut self, bytes: &[u8]) {
        if self.piece.len() + bytes.len() > self.piece.capacity() {
            self.hash.update(&self.piece);
            self.piece.clear();
        }
        if bytes.len() > self.piece.capacity() {
            self.hash.update(bytes);
        } else {
            self.piece.extend_from_slice(bytes);
        }
    }
}
