mod records;

use self::records::{Records, after};
use super::{Claim, Claimed, Ending, Store, StoreFuture, Token, Value};
use crate::{idempotency::RecordId, lock::Mutex};
use std::{fmt, future::ready, sync::Arc, time::Duration};
use tokio::time::Instant;

/// The default capacity: half a million calls.
const CAPACITY: usize = 256 << 20;

/// Keeps records in the memory of the process. Clones share them.
///
/// The answer of a lost call is found after a lost connection, and not after a restart of the
/// process.
///
/// The store is bounded by bytes: 256 MiB unless [set](Self::with_capacity). In the time for which
/// outcomes are kept, that is 524,288 calls without answers, or 174,762 calls with answers of 1 KiB.
/// Memory is allocated as needed.
///
/// If there is no room for a claim, the oldest answers are dropped first, with a warning in the log.
/// Their calls are still known as done, and are answered with the code `idempotency_not_kept`. If
/// that is not enough, a call with a new key fails with the code `idempotency_store_full` until records
/// expire: a call whose record is dropped would run again. For more calls, raise the capacity, keep
/// outcomes for a [shorter time](crate::idempotency::IdempotencyBuilder::keep), or use another store.
///
/// ```
/// use mcp_resilience::idempotency::{IdempotencyLayer, store::MemoryStore};
///
/// let store = MemoryStore::with_capacity(64 << 20);
/// let layer = IdempotencyLayer::with_store(store.clone());
/// assert_eq!(store.bytes(), 0);
/// # let _ = layer;
/// ```
#[derive(Clone)]
pub struct MemoryStore {
    shared: Arc<Mutex<Records>>,
}

impl MemoryStore {
    /// A store that holds at most 256 MiB.
    #[must_use]
    pub fn new() -> Self {
        Self::with_capacity(CAPACITY)
    }

    /// A store of at most this size, in bytes. A record counts for 512 bytes, and its outcome for its
    /// length.
    #[must_use]
    pub fn with_capacity(bytes: usize) -> Self {
        Self {
            shared: Arc::new(Mutex::new(Records::new(bytes))),
        }
    }

    /// How many bytes are in use.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.shared.lock().bytes
    }

    /// Changes the records, and reports the first time that answers are dropped.
    fn change<T>(&self, change: impl FnOnce(&mut Records) -> T) -> T {
        let (changed, is_full) = {
            let mut records = self.shared.lock();
            let had_room = !records.has_let_go;
            let changed = change(&mut records);
            (changed, had_room && records.has_let_go)
        };
        if is_full {
            tracing::warn!(
                "the memory store of idempotency keys is full: the oldest answers are dropped early"
            );
        }
        changed
    }
}

impl Default for MemoryStore {
    fn default() -> Self {
        Self::new()
    }
}

impl Store for MemoryStore {
    fn outlives_process(&self) -> bool {
        false
    }

    fn claim<'a>(&'a self, record: &'a RecordId, claim: Claim) -> StoreFuture<'a, Claimed> {
        let claimed = self.change(|records| records.claim(record, &claim, Instant::now()));
        Box::pin(ready(claimed))
    }

    fn renew<'a>(
        &'a self,
        record: &'a RecordId,
        token: Token,
        lease: Duration,
    ) -> StoreFuture<'a, bool> {
        let renewed = self
            .shared
            .lock()
            .renew(record, token, lease, Instant::now());
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
        let completed = self.change(|records| records.complete(record, token, ending, expires));
        Box::pin(ready(Ok(completed)))
    }

    fn release<'a>(&'a self, record: &'a RecordId, token: Token) -> StoreFuture<'a, bool> {
        let released = self.shared.lock().release(record, token);
        Box::pin(ready(Ok(released)))
    }

    fn settle<'a>(
        &'a self,
        record: &'a RecordId,
        outcome: Option<Value>,
        keep: Duration,
    ) -> StoreFuture<'a, bool> {
        let settled = self.change(|records| records.settle(record, outcome, keep, Instant::now()));
        Box::pin(ready(Ok(settled)))
    }
}

impl fmt::Debug for MemoryStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let records = self.shared.lock();
        f.debug_struct("MemoryStore")
            .field("records", &records.len())
            .field("bytes", &records.bytes)
            .field("capacity", &records.capacity)
            .finish()
    }
}
