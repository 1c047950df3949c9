use super::Token;
use crate::idempotency::Fingerprint;
use std::{fmt, sync::Arc, time::Duration};

/// A wish to run a call.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Claim {
    /// What the claim is fenced by.
    pub token: Token,
    /// What the call does: its tool and its arguments.
    pub fingerprint: Fingerprint,
    /// How long the claim holds unless it is renewed.
    pub lease: Duration,
    /// How long the record is kept if the claim is never completed.
    pub keep: Duration,
    /// Whether the call may run again if an earlier run ended in the dark.
    pub may_run_twice: bool,
}

impl Claim {
    /// A claim of a call that may not run twice, under a random token.
    #[must_use]
    pub fn new(fingerprint: Fingerprint, lease: Duration, keep: Duration) -> Self {
        Self {
            token: Token::random(),
            fingerprint,
            lease,
            keep,
            may_run_twice: false,
        }
    }

    /// Says whether the call may run again if an earlier run ended in the dark.
    #[must_use]
    pub fn may_run_twice(mut self, may_run_twice: bool) -> Self {
        self.may_run_twice = may_run_twice;
        self
    }
}

/// What came of a claim.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Claimed {
    /// The record is this claim's: run the call.
    Ours,
    /// Another run has it, for this long unless it renews its lease.
    Running {
        /// What is left of the lease.
        lease_left: Duration,
    },
    /// An earlier run is done.
    Done(Value),
    /// An earlier run began, and nobody knows how it ended.
    Unknown,
    /// The key names another call.
    Conflict,
}

/// How a run ends.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Ending {
    /// With this outcome.
    Done(Value),
    /// In the dark.
    Unknown,
}

/// An outcome, as a store keeps it: bytes, and the version of their format.
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Value {
    /// The version of the format.
    pub version: u16,
    /// The outcome. The [page of the room](crate::idempotency#what-a-store-holds) has the format.
    pub bytes: Arc<[u8]>,
}

impl Value {
    /// Bytes of a version.
    #[must_use]
    pub fn new(version: u16, bytes: impl Into<Arc<[u8]>>) -> Self {
        Self {
            version,
            bytes: bytes.into(),
        }
    }

    /// The outcome of a call that is done, and whose answer is not kept: too large, or no room.
    #[must_use]
    pub fn not_kept() -> Self {
        Self::new(0, [])
    }
}

/// An answer may hold secrets.
impl fmt::Debug for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Value")
            .field("version", &self.version)
            .field("len", &self.bytes.len())
            .finish_non_exhaustive()
    }
}
