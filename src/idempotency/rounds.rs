use super::{
    RecordId, StoredResult,
    continuation::{Continuation, Input},
    outcome::{Kept, Outcome},
};
use crate::call::IdempotencyKey;

/// The most rounds of one call.
pub(super) const MOST: u32 = 100;

/// The known rounds of a call that asks for input. Each has its own record.
///
/// A call that continues another goes from record to record, from the first on, until it finds its
/// own round: the one with the same input, or the one after the last.
pub(super) struct Rounds {
    identity: Option<Vec<u8>>,
    key: IdempotencyKey,
    continuation: Option<Continuation>,
    at: u32,
    record: RecordId,
    // Whether the previous round asked for the input of the call.
    is_asked_for: bool,
}

/// The meaning of the current round's outcome for a call.
pub(super) enum Step<R> {
    /// It is the outcome of this round.
    Mine(Outcome<R>),
    /// It is the outcome of an earlier round.
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

    /// The record of the current round.
    pub(super) fn record(&self) -> &RecordId {
        &self.record
    }

    /// The input of the current round, if it is not the first.
    pub(super) fn input(&self) -> Option<Input> {
        self.continuation.as_ref().map(Continuation::input)
    }

    /// Whether the call continues an unknown round.
    pub(super) fn lacks_beginning(&self) -> bool {
        self.continuation.is_some() && self.at == 0
    }

    /// Whether an unknown call cannot be a round that the server asked for.
    pub(super) fn is_uncalled_for(&self) -> bool {
        !self.is_asked_for
    }

    /// Compares the call with a finished round.
    pub(super) fn compare<R: StoredResult>(&mut self, kept: Kept<R>) -> Step<R> {
        let Some(continuation) = &self.continuation else {
            return Step::Mine(kept.outcome);
        };
        let answer = kept.outcome.as_ref().ok();
        let goes_on = answer.is_some_and(|answer| answer.goes_on_with(continuation.value()));
        // A round without its input was settled by hand.
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
