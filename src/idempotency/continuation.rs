use super::canonical::Canonical;
use serde_json::Value;
use sha2::{Digest, Sha256};

/// What continues an earlier round of a call: the caller's input, and the server's `requestState`.
pub(super) struct Continuation {
    value: Value,
    input: Input,
}

/// A hash of the input of a round.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct Input([u8; 32]);

impl Continuation {
    pub(super) fn new(value: Value) -> Self {
        let mut canonical = Canonical::new(Sha256::new());
        canonical.value(&value);
        let input = Input(canonical.into_hash().finalize().into());
        Self { value, input }
    }

    pub(super) fn value(&self) -> &Value {
        &self.value
    }

    pub(super) fn input(&self) -> Input {
        self.input
    }

    /// Whether the caller answers a question. Otherwise the server only wanted to be called again.
    pub(super) fn has_responses(&self) -> bool {
        !self.value["inputResponses"].is_null()
    }
}

impl Input {
    pub(super) const fn from_bytes(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }

    pub(super) const fn as_bytes(&self) -> &[u8] {
        &self.0
    }
}
