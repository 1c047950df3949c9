use super::{StoredResult, canonical::Canonical};
use crate::call::ToolCall;
use serde_json::Value;
use sha2::{Digest, Sha256};

/// The layer puts this, a number, and `;` in front of each `requestState` that it lets out.
const PREFIX: &str = "io.crates.mcp-resilience/round=";

/// The number of a round of a call.
///
/// The answer that asks for input carries the number of the next round in its `requestState`. So the
/// client sends the number back without knowing it, also if the server issues the same state twice,
/// or none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Round {
    number: u32,
    // A hash of the state of the first round that this layer saw, if there was an earlier one: it had
    // no key, or another server answered it.
    begun_by: Option<u128>,
}

impl Round {
    /// A round of a call whose first round (0) was seen here.
    pub(super) fn numbered(number: u32) -> Self {
        Self {
            number,
            begun_by: None,
        }
    }

    /// Reads the round of a call, and restores the state that the tool issued.
    #[inline]
    pub(super) fn take(call: &mut impl ToolCall) -> Self {
        if let Some(state) = call.request_state_mut()
            && let Some((round, issued)) = state.as_deref().and_then(Self::split)
        {
            *state = issued.map(str::to_owned);
            return round;
        }
        match call.continuation() {
            None => Self::default(),
            Some(continuation) => Self::begun_by(&continuation["requestState"]),
        }
    }

    /// The round of a call with this state.
    pub(super) fn of_state(state: &str) -> Self {
        match Self::split(state) {
            Some((round, _)) => round,
            None => Self::begun_by(&state.into()),
        }
    }

    fn begun_by(state: &Value) -> Self {
        let mut canonical = Canonical::new(Sha256::new());
        canonical.value(state);
        let hash: [u8; 32] = canonical.into_hash().finalize().into();
        let begun_by = hash.first_chunk().map(|begin| u128::from_be_bytes(*begin));
        Self {
            number: 0,
            begun_by,
        }
    }

    fn split(state: &str) -> Option<(Self, Option<&str>)> {
        let state = state.strip_prefix(PREFIX)?;
        let (round, issued) = match state.split_once(';') {
            Some((round, issued)) => (round, Some(issued)),
            None => (state, None),
        };
        let (number, begun_by) = match round.split_once('.') {
            Some((number, hash)) => (number, Some(u128::from_str_radix(hash, 16).ok()?)),
            None => (round, None),
        };
        let number = number.parse().ok()?;
        Some((Self { number, begun_by }, issued))
    }

    /// The state of the next round, if the tool issued this one.
    pub(super) fn next_state(self, issued: Option<&str>) -> String {
        let number = self.number.saturating_add(1);
        let begun_by = self.begun_by.map(|hash| format!(".{hash:x}"));
        let issued = issued.map(|issued| format!(";{issued}"));
        let (begun_by, issued) = (begun_by.unwrap_or_default(), issued.unwrap_or_default());
        format!("{PREFIX}{number}{begun_by}{issued}")
    }

    /// Puts the number of the next round into the answer of this one.
    pub(super) fn lead_on(self, answer: &mut impl StoredResult) {
        if let Some(state) = answer.request_state_mut() {
            *state = Some(self.next_state(state.as_deref()));
        }
    }

    /// Adds to the hash what distinguishes the record of this round from that of the first round.
    pub(super) fn feed(self, hash: &mut Sha256) {
        if let Some(begun_by) = self.begun_by {
            hash.update(begun_by.to_be_bytes());
        }
        if self.number > 0 {
            hash.update(self.number.to_be_bytes());
        }
    }
}
