use super::{Claim, Claimed, Ending, Store, StoreError, StoreFuture, Token, Value};
use crate::idempotency::{Fingerprint, RecordId};
use std::{
    collections::{BTreeSet, HashMap},
    fmt,
    future::ready,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};
use tokio::time::Instant;

/// The bound, unless it is set: 64 MiB.
const CAPACITY: usize = 64 << 20;

/// What a record costs beside the bytes of its outcome: its two entries, with room to grow.
const RECORD: usize = 512;

/// Keeps records in the memory of the process. Clones share them.
///
/// The answer of a lost call is found after a lost connection, and not after a restart of the process.
///
/// Bounded by bytes: 64 MiB, unless [set](Self::with_capacity). If there is no room for a claim, the
/// oldest answers are let go first: their calls are still known as done, and answered with
/// the code `idempotency_not_kept`. If that is not enough, the claim fails and nothing runs.
#[derive(Clone)]
pub struct MemoryStore {
    shared: Arc<Mutex<Records>>,
}

struct Records {
    by_id: HashMap<RecordId, Record>,
    // Each record has one entry here.
    expiring: BTreeSet<(Instant, RecordId)>,
    // And each whose answer is kept has one here.
    answers: BTreeSet<(Instant, RecordId)>,
    bytes: usize,
    capacity: usize,
}

struct Record {
    fingerprint: Fingerprint,
    token: Token,
    state: State,
    expires: Instant,
    // For how long it is kept after its claim is left alone.
    keep: Duration,
}

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

impl MemoryStore {
    /// A store that holds at most 64 MiB.
    #[must_use]
    pub fn new() -> Self {
        Self::with_capacity(CAPACITY)
    }

    /// A store that holds at most so many bytes. A record counts for 512 bytes, and its outcome for its
    /// length.
    #[must_use]
    pub fn with_capacity(bytes: usize) -> Self {
        Self {
            shared: Arc::new(Mutex::new(Records {
                by_id: HashMap::new(),
                expiring: BTreeSet::new(),
                answers: BTreeSet::new(),
                bytes: 0,
                capacity: bytes,
            })),
        }
    }

    /// How many bytes are held.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.records().bytes
    }

    // Never held while something is waited for.
    fn records(&self) -> MutexGuard<'_, Records> {
        self.shared.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Default for MemoryStore {
    fn default() -> Self {
        Self::new()
    }
}

fn after(now: Instant, wait: Duration) -> Instant {
    // Beyond the end of time: a hundred years are as good.
    const LONG: Duration = Duration::from_secs(100 * 365 * 24 * 60 * 60);
    now + wait.min(LONG)
}

impl Records {
    /// Lets go of records whose time is over.
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

    /// Puts a record in place of the one before.
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

    /// Makes room for so many more bytes, by letting the oldest answers go.
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
            }
        }
        true
    }

    fn claim(&mut self, id: &RecordId, claim: &Claim, now: Instant) -> Result<Claimed, StoreError> {
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
            return Err(StoreError::new(format!(
                "the memory store is full of calls that must not be forgotten: give it more than {} bytes",
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

    fn renew(&mut self, id: &RecordId, token: Token, lease: Duration, now: Instant) -> bool {
        let record = self.by_id.get(id);
        let is_ours = |record: &&Record| {
            record.token == token && matches!(record.state, State::Claimed { .. })
        };
        let Some(record) = record.filter(is_ours) else {
            return false;
        };
        let until = after(now, lease);
        let (fingerprint, keep) = (record.fingerprint, record.keep);
        self.put(
            *id,
            Record {
                fingerprint,
                token,
                state: State::Claimed { until },
                expires: after(until, keep),
                keep,
            },
        );
        true
    }

    fn end(&mut self, id: &RecordId, state: State, expires: Instant) {
        let Some(record) = self.by_id.get(id) else {
            return;
        };
        let (fingerprint, token, keep) = (record.fingerprint, record.token, record.keep);
        let state = match state {
            // Better known as done without its answer than not known at all.
            State::Done(value) if !self.make_room(value.bytes.len()) => {
                State::Done(Value::not_kept())
            }
            state => state,
        };
        self.put(
            *id,
            Record {
                fingerprint,
                token,
                state,
                expires,
                keep,
            },
        );
    }

    fn complete(&mut self, id: &RecordId, token: Token, ending: Ending, expires: Instant) -> bool {
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

    fn release(&mut self, id: &RecordId, token: Token) -> bool {
        let is_ours = self.by_id.get(id).is_some_and(|record| record.is_of(token));
        if is_ours {
            self.remove(id);
        }
        is_ours
    }

    fn settle(
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

impl Store for MemoryStore {
    fn claim<'a>(&'a self, record: &'a RecordId, claim: Claim) -> StoreFuture<'a, Claimed> {
        let claimed = self.records().claim(record, &claim, Instant::now());
        Box::pin(ready(claimed))
    }

    fn renew<'a>(
        &'a self,
        record: &'a RecordId,
        token: Token,
        lease: Duration,
    ) -> StoreFuture<'a, bool> {
        let renewed = self.records().renew(record, token, lease, Instant::now());
        Box::pin(ready(Ok(renewed)))
    }

    fn complete<'a>(
        &'a self,
        record: &'a RecordId,
        token: Token,
        ending: Ending,
        keep: Duration,
    ) -> StoreFuture<'a, bool> {
        let expires = after(Instant::now(), keep);
        let completed = self.records().complete(record, token, ending, expires);
        Box::pin(ready(Ok(completed)))
    }

    fn release<'a>(&'a self, record: &'a RecordId, token: Token) -> StoreFuture<'a, bool> {
        let released = self.records().release(record, token);
        Box::pin(ready(Ok(released)))
    }

    fn settle<'a>(
        &'a self,
        record: &'a RecordId,
        outcome: Option<Value>,
        keep: Duration,
    ) -> StoreFuture<'a, bool> {
        let settled = self.records().settle(record, outcome, keep, Instant::now());
        Box::pin(ready(Ok(settled)))
    }
}

impl fmt::Debug for MemoryStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let records = self.records();
        f.debug_struct("MemoryStore")
            .field("records", &records.by_id.len())
            .field("bytes", &records.bytes)
            .field("capacity", &records.capacity)
            .finish()
    }
}
