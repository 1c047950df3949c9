use super::canonical::Canonical;
use crate::call::{Arguments, ToolCall};
use sha2::{Digest, Sha256};
use std::fmt;

/// A hash of a call's tool, of its arguments, and of its input if it continues an earlier round.
///
/// Arguments are compared as JSON. The order of members, white space, escapes, and a zero fraction
/// of a number (`1.0`) do not matter. A call without arguments has an empty object.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Fingerprint([u8; 32]);

impl Fingerprint {
    /// The fingerprint of a call.
    #[must_use]
    pub fn of(call: &impl ToolCall) -> Self {
        let mut hash = Sha256::new();
        let name = call.name();
        hash.update((name.len() as u64).to_be_bytes());
        hash.update(name);
        let mut canonical = Canonical::new(hash);
        match call.arguments() {
            Some(Arguments::Object(members)) => canonical.object(members),
            Some(Arguments::Value(value)) => canonical.value(value),
            None => canonical.object(&serde_json::Map::new()),
        }
        if let Some(continuation) = call.continuation() {
            canonical.value(&continuation);
        }
        Self(canonical.into_hash().finalize().into())
    }

    /// A stored fingerprint.
    #[must_use]
    pub const fn from_bytes(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }

    /// The bytes, to be stored.
    #[must_use]
    pub const fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }
}

impl fmt::Debug for Fingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Fingerprint(")?;
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))?;
        f.write_str(")")
    }
}
