use super::{
    RecordId, StoredResult,
    continuation::{Continuation, Input},
    outcome::{Kept, Outcome},
};
use crate::call::IdempotencyKey;

/// The most rounds of one call.
pub(super) const MOST: u32 = 100;

/// The rounds of a call that asks for input, as far as they are known: each has a record of its own.
///
/// A call that continues another goes from record to record, from the first on, until it finds its own
/// round: the one that had the same input, or the one after the last.
pub(super) struct Rounds {
    identity: Option<Vec<u8>>,
    key: IdempotencyKey,
    continuation: Option<Continuation>,
    at: u32,
    record: RecordId,
    // Whether the round before asked for what the call continues with.
    is_asked_for: bool,
}

/// What the outcome of the round at hand is to a call.
pub(super) enum Step<R> {
    /// That of this very round.
    Mine(Outcome<R>),
    /// That of an earlier one.
    Next,
    /// The key is used up.
    Conflict,
}

impl Rounds {
    pub(super) fn new(
        identity: Option<Vec<u8>>,
        key: IdempotencyKey,
        continuation: Option<Continuation>,
    ) -> Self {
        Self {
            record: RecordId::new(identity.as_deref(), &key),
            identity,
            key,
            continuation,
            at: 0,
            is_asked_for: true,
        }
    }

    pub(super) fn key(&self) -> &IdempotencyKey {
        &self.key
    }

    /// The record of the round at hand.
    pub(super) fn record(&self) -> &RecordId {
        &self.record
    }

    /// With what the round at hand was called, if it is none of the first.
    pub(super) fn input(&self) -> Option<Input> {
        self.continuation.as_ref().map(Continuation::input)
    }

    /// Whether the call continues a round of which nothing is known.
    pub(super) fn lacks_beginning(&self) -> bool {
        self.continuation.is_some() && self.at == 0
    }

    /// Whether a call of which nothing is known is no round that the server asked for.
    pub(super) fn is_uncalled_for(&self) -> bool {
        !self.is_asked_for
    }

    /// Compares the call with a round that is done.
    pub(super) fn compare<R: StoredResult>(&mut self, kept: Kept<R>) -> Step<R> {
        let Some(continuation) = &self.continuation else {
            return Step::Mine(kept.outcome);
        };
        let answer = kept.outcome.as_ref().ok();
        let goes_on = answer.is_some_and(|answer| answer.goes_on_with(continuation.value()));
        // Without its input it was settled by hand.
        let is_mine = self.at > 0 && kept.input.is_none_or(|input| input == continuation.input());
        if is_mine && (continuation.has_responses() || !goes_on) {
            return Step::Mine(kept.outcome);
        }
        let is_interim = answer.is_some_and(R::is_interim);
        if !is_interim || self.at >= MOST {
            return Step::Conflict;
        }
        self.is_asked_for = goes_on;
        self.go_on();
        Step::Next
    }

    pub(super) fn go_on(&mut self) {
        self.at += 1;
        self.record = RecordId::of_round(self.identity.as_deref(), &self.key, self.at);
    }
}
