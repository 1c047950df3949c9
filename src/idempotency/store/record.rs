use crate::idempotency::Fingerprint;
use std::{fmt, sync::Arc, time::Duration};

/// Fences a claim: with another token, it can be neither renewed nor completed.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Token([u8; 16]);

impl Token {
    /// A random token.
    #[must_use]
    pub fn random() -> Self {
        Self(rand::random())
    }

    /// A stored token.
    #[must_use]
    pub const fn from_bytes(bytes: [u8; 16]) -> Self {
        Self(bytes)
    }

    /// The bytes, to be stored.
    #[must_use]
    pub const fn as_bytes(&self) -> &[u8; 16] {
        &self.0
    }
}

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Token(..)")
    }
}

/// A request to run a call.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Claim {
    /// The token that fences the claim.
    pub token: Token,
    /// The tool and the arguments of the call.
    pub fingerprint: Fingerprint,
    /// How long the claim holds unless it is renewed.
    pub lease: Duration,
    /// How long the record is kept if the claim is never completed.
    pub keep: Duration,
    /// Whether the call may run again if the end of an earlier run is unknown.
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

    /// Sets whether the call may run again if the end of an earlier run is unknown.
    #[must_use]
    pub fn may_run_twice(mut self, may_run_twice: bool) -> Self {
        self.may_run_twice = may_run_twice;
        self
    }
}

/// The result of a claim.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Claimed {
    /// This claim owns the record. Run the call.
    Ours,
    /// Another run owns the record.
    Running {
        /// The rest of its lease, unless the run renews it.
        lease_left: Duration,
    },
    /// An earlier run is done.
    Done(Value),
    /// An earlier run began, and its end is unknown.
    Unknown,
    /// The key belongs to another call.
    Conflict,
}

/// The end of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Ending {
    /// With this outcome.
    Done(Value),
    /// Unknown.
    Unknown,
}

/// An outcome in a store: bytes, and the version of their format.
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Value {
    /// The version of the format.
    pub version: u16,
    /// The outcome. The [module page](crate::idempotency#the-format-of-a-store) describes the
    /// format.
    pub bytes: Arc<[u8]>,
}

impl Value {
    /// An outcome in this version of the format.
    #[must_use]
    pub fn new(version: u16, bytes: impl Into<Arc<[u8]>>) -> Self {
        Self {
            version,
            bytes: bytes.into(),
        }
    }

    /// The outcome of a finished call whose answer is too large or has no room.
    #[must_use]
    pub fn not_kept() -> Self {
        Self::new(0, [])
    }
}

/// Shows only the length, since an answer may hold secrets.
impl fmt::Debug for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Value")
            .field("version", &self.version)
            .field("len", &self.bytes.len())
            .finish_non_exhaustive()
    }
}
