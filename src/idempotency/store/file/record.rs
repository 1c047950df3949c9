use crate::idempotency::{
    Fingerprint,
    store::{StoreError, Token, Value},
};

/// A record in the file: fingerprint, token, state, the time at which it expires, and the outcome.
pub(super) struct Record {
    pub(super) fingerprint: Fingerprint,
    pub(super) token: Token,
    pub(super) state: State,
    pub(super) expires_ms: u64,
}

#[derive(Clone, PartialEq)]
pub(super) enum State {
    Claimed,
    Done(Value),
    Unknown,
}

const CLAIMED: u8 = b'C';
const DONE: u8 = b'D';
const UNKNOWN: u8 = b'U';

impl Record {
    pub(super) fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(64);
        bytes.extend_from_slice(self.fingerprint.as_bytes());
        bytes.extend_from_slice(self.token.as_bytes());
        bytes.extend_from_slice(&self.expires_ms.to_be_bytes());
        match &self.state {
            State::Claimed => bytes.push(CLAIMED),
            State::Unknown => bytes.push(UNKNOWN),
            State::Done(value) => {
                bytes.push(DONE);
                bytes.extend_from_slice(&value.version.to_be_bytes());
                bytes.extend_from_slice(&value.bytes);
            }
        }
        bytes
    }

    pub(super) fn from_bytes(bytes: &[u8]) -> Result<Self, StoreError> {
        Self::parse(bytes).ok_or_else(|| {
            StoreError::new(
                "a record in the file of idempotency keys cannot be read: is it damaged?",
            )
        })
    }

    fn parse(bytes: &[u8]) -> Option<Self> {
        let (fingerprint, bytes) = bytes.split_first_chunk()?;
        let (token, bytes) = bytes.split_first_chunk()?;
        let (expires, bytes) = bytes.split_first_chunk()?;
        let (state, bytes) = bytes.split_first()?;
        let state = match *state {
            CLAIMED if bytes.is_empty() => State::Claimed,
            UNKNOWN if bytes.is_empty() => State::Unknown,
            DONE => {
                let (version, bytes) = bytes.split_first_chunk()?;
                State::Done(Value::new(u16::from_be_bytes(*version), bytes))
            }
            _ => return None,
        };
        Some(Self {
            fingerprint: Fingerprint::from_bytes(*fingerprint),
            token: Token::from_bytes(*token),
            state,
            expires_ms: u64::from_be_bytes(*expires),
        })
    }
}
