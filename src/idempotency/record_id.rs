use super::round::Round;
use crate::call::IdempotencyKey;
use sha2::{Digest, Sha256};
use std::fmt;

/// The name of a call's record in a store: a hash of the caller's identity, the key, and the round
/// if the call continues an earlier one.
///
/// A reader of the store learns neither identities nor keys. Two identities with the same key have
/// two records.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RecordId([u8; 32]);

impl RecordId {
    /// The record of a call's first round. `identity` is `None` if all callers share their keys.
    #[must_use]
    pub fn new(identity: Option<&[u8]>, key: &IdempotencyKey) -> Self {
        Self::of_round(identity, key, Round::default())
    }

    pub(super) fn of_round(identity: Option<&[u8]>, key: &IdempotencyKey, round: Round) -> Self {
        let mut hash = Sha256::new();
        hash.update([u8::from(identity.is_some())]);
        let identity = identity.unwrap_or_default();
        // Hashed with their lengths, so that no two pairs have the same bytes.
        for part in [identity, key.as_str().as_bytes()] {
            hash.update((part.len() as u64).to_be_bytes());
            hash.update(part);
        }
        round.feed(&mut hash);
        Self(hash.finalize().into())
    }

    /// A stored name.
    #[must_use]
    pub const fn from_bytes(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }

    /// The bytes.
    #[must_use]
    pub const fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }
}

/// As 64 hexadecimal digits.
impl fmt::Display for RecordId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for RecordId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "RecordId({self})")
    }
}
