//! The operations, and how one transaction performs them.

use super::{
    clock::millis,
    leases::{Lease, Leases},
    open::{CLOCK_KEY, EXPIRING, NUMBERS, RECORDS},
    record::{Record, State},
};
use crate::idempotency::{
    RecordId,
    store::{Claim, Claimed, Ending, StoreError, Token, Value},
};
use redb::{ReadableTable, Table, WriteTransaction};
use std::{collections::HashMap, time::Duration};
use tokio::sync::oneshot;

/// How many expired records one transaction removes at most.
const EXPIRED_PER_COMMIT: usize = 64;

pub(super) type Answer<T> = oneshot::Sender<Result<T, StoreError>>;

/// A request to the writer.
pub(super) enum Operation {
    Claim(RecordId, Claim, Answer<Claimed>),
    Complete(RecordId, Token, Ending, Duration, Answer<bool>),
    Release(RecordId, Token, Answer<bool>),
    Settle(RecordId, Option<Value>, Duration, Answer<bool>),
    /// Writes the new expiry of a record whose claim was renewed.
    Keep(RecordId, Token),
}

/// An answer to be sent once everything is on the disk.
pub(super) enum Done {
    Claimed(Answer<Claimed>, Result<Claimed, StoreError>),
    Changed(Answer<bool>, Result<bool, StoreError>),
    Kept,
}

/// The open tables of a transaction.
pub(super) struct Tables<'t> {
    records: Table<'t, &'static [u8; 32], &'static [u8]>,
    expiring: Table<'t, (u64, &'static [u8; 32]), ()>,
    leases: &'t Leases,
    // The changes of leases: a new one, or none. They take effect once everything is on the disk.
    changed: HashMap<RecordId, Option<Lease>>,
    now_ms: u64,
}

impl<'t> Tables<'t> {
    pub(super) fn open(
        writing: &'t WriteTransaction,
        leases: &'t Leases,
        now_ms: u64,
    ) -> Result<Self, redb::Error> {
        writing.open_table(NUMBERS)?.insert(CLOCK_KEY, now_ms)?;
        Ok(Self {
            records: writing.open_table(RECORDS)?,
            expiring: writing.open_table(EXPIRING)?,
            leases,
            changed: HashMap::new(),
            now_ms,
        })
    }

    /// The changes of leases. They take effect once everything is on the disk.
    pub(super) fn into_changed(self) -> HashMap<RecordId, Option<Lease>> {
        self.changed
    }

    /// The lease as this transaction leaves it.
    fn lease(&self, id: &RecordId) -> Option<Lease> {
        let changed = self.changed.get(id).copied();
        changed.unwrap_or_else(|| self.leases.get(id))
    }

    pub(super) fn run(&mut self, operation: Operation) -> Done {
        match operation {
            Operation::Claim(id, claim, answer) => Done::Claimed(answer, self.claim(&id, &claim)),
            Operation::Complete(id, token, ending, keep, answer) => {
                Done::Changed(answer, self.complete(&id, token, ending, keep))
            }
            Operation::Release(id, token, answer) => {
                Done::Changed(answer, self.release(&id, token))
            }
            Operation::Settle(id, outcome, keep, answer) => {
                Done::Changed(answer, self.settle(&id, outcome, keep))
            }
            Operation::Keep(id, token) => {
                // If this fails, the next renewal writes it.
                let _ = self.keep(&id, token);
                Done::Kept
            }
        }
    }

    /// Removes expired records, but none whose run goes on.
    pub(super) fn expire(&mut self) -> Result<(), StoreError> {
        let mut over = Vec::new();
        let until = (self.now_ms, &[u8::MAX; 32]);
        for entry in self.expiring.range(..=until).map_err(failed)? {
            let (key, ()) = entry
                .map(|(key, value)| (key, value.value()))
                .map_err(failed)?;
            let (_, id) = key.value();
            over.push(RecordId::from_bytes(*id));
            if over.len() == EXPIRED_PER_COMMIT {
                break;
            }
        }
        for id in over {
            let lease = self.lease(&id);
            match lease.filter(|lease| lease.until_ms > self.now_ms) {
                Some(lease) => self.keep(&id, lease.token)?,
                None => self.remove(&id)?,
            }
        }
        Ok(())
    }

    fn read(&self, id: &RecordId) -> Result<Option<Record>, StoreError> {
        let record = self.records.get(id.as_bytes()).map_err(failed)?;
        record
            .map(|record| Record::from_bytes(record.value()))
            .transpose()
    }

    fn write(&mut self, id: &RecordId, record: &Record) -> Result<(), StoreError> {
        if let Some(before) = self.read(id)? {
            let entry = (before.expires_ms, id.as_bytes());
            self.expiring.remove(entry).map_err(failed)?;
        }
        let bytes = record.to_bytes();
        let entry = (record.expires_ms, id.as_bytes());
        self.records
            .insert(id.as_bytes(), &*bytes)
            .map_err(failed)?;
        self.expiring.insert(entry, ()).map_err(failed)?;
        Ok(())
    }

    fn remove(&mut self, id: &RecordId) -> Result<(), StoreError> {
        if let Some(before) = self.read(id)? {
            let entry = (before.expires_ms, id.as_bytes());
            self.expiring.remove(entry).map_err(failed)?;
        }
        self.records.remove(id.as_bytes()).map_err(failed)?;
        self.changed.insert(*id, None);
        Ok(())
    }

    fn after(&self, wait: Duration) -> u64 {
        self.now_ms.saturating_add(millis(wait))
    }

    fn lease_left(&self, id: &RecordId) -> Option<Duration> {
        let until = self.lease(id)?.until_ms;
        let left = until.checked_sub(self.now_ms)?;
        (left > 0).then(|| Duration::from_millis(left))
    }

    fn claim(&mut self, id: &RecordId, claim: &Claim) -> Result<Claimed, StoreError> {
        if let Some(record) = self.read(id)? {
            if record.fingerprint != claim.fingerprint {
                return Ok(Claimed::Conflict);
            }
            if let State::Done(value) = record.state {
                return Ok(Claimed::Done(value));
            }
            if record.token != claim.token {
                let is_claimed = record.state == State::Claimed;
                if let Some(lease_left) = self.lease_left(id).filter(|_| is_claimed) {
                    return Ok(Claimed::Running { lease_left });
                }
                if !claim.may_run_twice {
                    return Ok(Claimed::Unknown);
                }
            }
        }
        let until_ms = self.after(claim.lease);
        let record = Record {
            fingerprint: claim.fingerprint,
            token: claim.token,
            state: State::Claimed,
            expires_ms: until_ms.saturating_add(millis(claim.keep)),
        };
        self.write(id, &record)?;
        let lease = Lease {
            token: claim.token,
            until_ms,
            keep_ms: millis(claim.keep),
            expires_ms: record.expires_ms,
        };
        self.changed.insert(*id, Some(lease));
        Ok(Claimed::Ours)
    }

    fn complete(
        &mut self,
        id: &RecordId,
        token: Token,
        ending: Ending,
        keep: Duration,
    ) -> Result<bool, StoreError> {
        let Some(mut record) = self.read(id)?.filter(|record| record.token == token) else {
            return Ok(false);
        };
        if matches!(record.state, State::Done(_)) {
            return Ok(true);
        }
        record.state = match ending {
            Ending::Done(value) => State::Done(value),
            Ending::Unknown => State::Unknown,
        };
        let expires_ms = self.after(keep);
        // The entry of the previous record is found by the time of that record.
        self.write(
            id,
            &Record {
                expires_ms,
                ..record
            },
        )?;
        self.changed.insert(*id, None);
        Ok(true)
    }

    fn release(&mut self, id: &RecordId, token: Token) -> Result<bool, StoreError> {
        let record = self.read(id)?.filter(|record| record.token == token);
        let is_ours = record.is_some_and(|record| !matches!(record.state, State::Done(_)));
        if is_ours {
            self.remove(id)?;
        }
        Ok(is_ours)
    }

    fn settle(
        &mut self,
        id: &RecordId,
        outcome: Option<Value>,
        keep: Duration,
    ) -> Result<bool, StoreError> {
        let is_running = self.lease_left(id).is_some();
        let record = self.read(id)?.filter(|record| match record.state {
            State::Claimed => !is_running,
            State::Unknown => true,
            State::Done(_) => false,
        });
        let Some(record) = record else {
            return Ok(false);
        };
        match outcome {
            Some(value) => {
                let record = Record {
                    state: State::Done(value),
                    expires_ms: self.after(keep),
                    ..record
                };
                self.write(id, &record)?;
                self.changed.insert(*id, None);
            }
            None => self.remove(id)?,
        }
        Ok(true)
    }

    fn keep(&mut self, id: &RecordId, token: Token) -> Result<(), StoreError> {
        let lease = self.lease(id).filter(|lease| lease.token == token);
        let record = self.read(id)?.filter(|record| record.token == token);
        if let (Some(lease), Some(record)) = (lease, record) {
            let expires_ms = lease.expires_ms.max(lease.until_ms.saturating_add(1));
            self.write(
                id,
                &Record {
                    expires_ms,
                    ..record
                },
            )?;
        }
        Ok(())
    }
}

fn failed(error: impl Into<redb::Error>) -> StoreError {
    let text = "the file of idempotency keys cannot be read or written";
    StoreError::new(text).because(error.into())
}
