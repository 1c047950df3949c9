use super::super::{Claim, Claimed, Ending, StoreError, Token, Value};
use crate::idempotency::{Fingerprint, RecordId};
use std::{
    collections::{BTreeSet, HashMap},
    time::Duration,
};
use tokio::time::Instant;

/// The size of a record without the bytes of its outcome: its two entries, with spare capacity.
const RECORD: usize = 512;

/// All records of a store.
pub(super) struct Records {
    by_id: HashMap<RecordId, Record>,
    // Each record has one entry here.
    expiring: BTreeSet<(Instant, RecordId)>,
    // Each record with an answer has one entry here.
    answers: BTreeSet<(Instant, RecordId)>,
    pub(super) bytes: usize,
    pub(super) capacity: usize,
    // Whether an answer was dropped early.
    pub(super) has_let_go: bool,
}

#[derive(Clone)]
struct Record {
    fingerprint: Fingerprint,
    token: Token,
    state: State,
    expires: Instant,
    // How long the record is kept after the last renewal of its claim.
    keep: Duration,
}

#[derive(Clone)]
enum State {
    Claimed { until: Instant },
    Done(Value),
    Unknown,
}

impl Record {
    fn is_unknown(&self, now: Instant) -> bool {
        match self.state {
            State::Claimed { until } => until <= now,
            State::Unknown => true,
            State::Done(_) => false,
        }
    }

    fn is_of(&self, token: Token) -> bool {
        self.token == token && !matches!(self.state, State::Done(_))
    }

    fn has_answer(&self) -> bool {
        matches!(&self.state, State::Done(value) if !value.bytes.is_empty())
    }

    fn bytes(&self) -> usize {
        match &self.state {
            State::Done(value) => RECORD + value.bytes.len(),
            State::Claimed { .. } | State::Unknown => RECORD,
        }
    }
}

pub(super) fn after(now: Instant, wait: Duration) -> Instant {
    // If the time is too large for an `Instant`, use a hundred years.
    const LONG: Duration = Duration::from_secs(100 * 365 * 24 * 60 * 60);
    now + wait.min(LONG)
}

impl Records {
    pub(super) fn new(capacity: usize) -> Self {
        Self {
            by_id: HashMap::new(),
            expiring: BTreeSet::new(),
            answers: BTreeSet::new(),
            bytes: 0,
            capacity,
            has_let_go: false,
        }
    }

    pub(super) fn len(&self) -> usize {
        self.by_id.len()
    }

    /// Removes expired records.
    fn expire(&mut self, now: Instant) {
        while let Some((at, id)) = self.expiring.first().copied() {
            if at > now {
                return;
            }
            self.remove(&id);
        }
    }

    fn remove(&mut self, id: &RecordId) {
        if let Some(record) = self.by_id.remove(id) {
            self.forget(id, &record);
        }
    }

    fn forget(&mut self, id: &RecordId, record: &Record) {
        let entry = (record.expires, *id);
        self.expiring.remove(&entry);
        self.answers.remove(&entry);
        self.bytes -= record.bytes();
    }

    /// Replaces the record with this name.
    fn put(&mut self, id: RecordId, record: Record) {
        let entry = (record.expires, id);
        let (bytes, has_answer) = (record.bytes(), record.has_answer());
        if let Some(before) = self.by_id.insert(id, record) {
            self.forget(&id, &before);
        }
        self.bytes += bytes;
        self.expiring.insert(entry);
        if has_answer {
            self.answers.insert(entry);
        }
    }

    /// Makes room for this many more bytes by dropping the oldest answers.
    fn make_room(&mut self, more: usize) -> bool {
        while self.bytes + more > self.capacity {
            let Some((_, id)) = self.answers.pop_first() else {
                return false;
            };
            if let Some(record) = self.by_id.get_mut(&id)
                && let State::Done(value) = &mut record.state
            {
                self.bytes -= value.bytes.len();
                *value = Value::not_kept();
                self.has_let_go = true;
            }
        }
        true
    }

    pub(super) fn claim(
        &mut self,
        id: &RecordId,
        claim: &Claim,
        now: Instant,
    ) -> Result<Claimed, StoreError> {
        self.expire(now);
        if let Some(record) = self.by_id.get(id) {
            if record.fingerprint != claim.fingerprint {
                return Ok(Claimed::Conflict);
            }
            let is_ours = record.is_of(claim.token);
            match &record.state {
                State::Done(value) => return Ok(Claimed::Done(value.clone())),
                State::Claimed { until } if *until > now && !is_ours => {
                    let lease_left = *until - now;
                    return Ok(Claimed::Running { lease_left });
                }
                _ if !is_ours && !claim.may_run_twice => return Ok(Claimed::Unknown),
                _ => {}
            }
        } else if !self.make_room(RECORD) {
            return Err(StoreError::full(format!(
                "the memory store is full: raise `MemoryStore::with_capacity` above {} bytes, or lower \
                 `IdempotencyBuilder::keep`",
                self.capacity
            )));
        }
        let until = after(now, claim.lease);
        self.put(
            *id,
            Record {
                fingerprint: claim.fingerprint,
                token: claim.token,
                state: State::Claimed { until },
                expires: after(until, claim.keep),
                keep: claim.keep,
            },
        );
        Ok(Claimed::Ours)
    }

    pub(super) fn renew(
        &mut self,
        id: &RecordId,
        token: Token,
        lease: Duration,
        now: Instant,
    ) -> bool {
        let record = self.by_id.get(id);
        let is_ours = |record: &&Record| {
            record.token == token && matches!(record.state, State::Claimed { .. })
        };
        let Some(record) = record.filter(is_ours) else {
            return false;
        };
        let until = after(now, lease);
        let renewed = Record {
            state: State::Claimed { until },
            expires: after(until, record.keep),
            ..record.clone()
        };
        self.put(*id, renewed);
        true
    }

    fn end(&mut self, id: &RecordId, state: State, expires: Instant) {
        let Some(record) = self.by_id.get(id).cloned() else {
            return;
        };
        let state = match state {
            // Keep the record as done without its answer, rather than lose it.
            State::Done(value) if !self.make_room(value.bytes.len()) => {
                self.has_let_go = true;
                State::Done(Value::not_kept())
            }
            state => state,
        };
        let ended = Record {
            state,
            expires,
            ..record
        };
        self.put(*id, ended);
    }

    pub(super) fn complete(
        &mut self,
        id: &RecordId,
        token: Token,
        ending: Ending,
        expires: Instant,
    ) -> bool {
        match self.by_id.get(id) {
            Some(record) if record.is_of(token) => {
                let state = match ending {
                    Ending::Done(value) => State::Done(value),
                    Ending::Unknown => State::Unknown,
                };
                self.end(id, state, expires);
                true
            }
            Some(record) => record.token == token,
            None => false,
        }
    }

    pub(super) fn release(&mut self, id: &RecordId, token: Token) -> bool {
        let is_ours = self.by_id.get(id).is_some_and(|record| record.is_of(token));
        if is_ours {
            self.remove(id);
        }
        is_ours
    }

    pub(super) fn settle(
        &mut self,
        id: &RecordId,
        outcome: Option<Value>,
        keep: Duration,
        now: Instant,
    ) -> bool {
        let record = self.by_id.get(id);
        if !record.is_some_and(|record| record.is_unknown(now)) {
            return false;
        }
        match outcome {
            Some(value) => self.end(id, State::Done(value), after(now, keep)),
            None => self.remove(id),
        }
        true
    }
}
