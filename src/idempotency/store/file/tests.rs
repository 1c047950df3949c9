//! Tests with a failing disk.
#![allow(
    clippy::unwrap_used,
    reason = "a step that fails must fail the test that takes it"
)]

use super::{RedbStore, open};
use crate::{
    call::IdempotencyKey,
    idempotency::{
        Fingerprint, RecordId,
        store::{Claim, Claimed, Ending, Store, Value},
    },
};
use redb::{StorageBackend, backends::InMemoryBackend};
use std::{
    io,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed},
    },
    time::Duration,
};

const LONG: Duration = Duration::from_secs(600);

/// A disk in memory that stops writing at some point.
#[derive(Debug)]
struct Disk {
    works: InMemoryBackend,
    is_broken: Arc<AtomicBool>,
    syncs: Arc<AtomicUsize>,
}

impl Disk {
    fn check(&self) -> io::Result<()> {
        if self.is_broken.load(Relaxed) {
            return Err(io::Error::other("no space left"));
        }
        Ok(())
    }
}

impl StorageBackend for Disk {
    fn len(&self) -> io::Result<u64> {
        self.works.len()
    }

    fn read(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        self.works.read(offset, out)
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        self.works.set_len(len)
    }

    fn sync_data(&self) -> io::Result<()> {
        self.check()?;
        self.syncs.fetch_add(1, Relaxed);
        self.works.sync_data()
    }

    fn write(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        self.check()?;
        self.works.write(offset, data)
    }
}

#[tokio::test]
async fn a_lease_ends_with_an_outcome_only_once_that_is_on_the_disk() {
    let is_broken = Arc::new(AtomicBool::new(false));
    let disk = Disk {
        works: InMemoryBackend::new(),
        is_broken: Arc::clone(&is_broken),
        syncs: Arc::default(),
    };
    let store = RedbStore::on(open::on(disk).unwrap()).unwrap();
    let records = ["done", "released", "late"].map(|key| {
        let key = IdempotencyKey::new(key).unwrap();
        RecordId::new(None, &key)
    });
    let [done, released, late] = &records;
    let claim = Claim::new(Fingerprint::from_bytes([1; 32]), LONG, LONG);
    for record in [done, released] {
        let claimed = store.claim(record, claim.clone()).await.unwrap();
        assert_eq!(claimed, Claimed::Ours);
    }
    is_broken.store(true, Relaxed);
    let value = Ending::Done(Value::new(1, *b"R{}"));
    let token = claim.token;
    store.complete(done, token, value, LONG).await.unwrap_err();
    store.release(released, token).await.unwrap_err();
    store.claim(late, claim).await.unwrap_err();
    for (record, is_held) in [(done, true), (released, true), (late, false)] {
        let renewed = store.renew(record, token, LONG).await.unwrap();
        assert_eq!(renewed, is_held, "as it is on the disk");
    }
}

#[tokio::test]
async fn a_call_takes_two_durable_writes() {
    let syncs = Arc::new(AtomicUsize::new(0));
    let disk = Disk {
        works: InMemoryBackend::new(),
        is_broken: Arc::default(),
        syncs: Arc::clone(&syncs),
    };
    let store = RedbStore::on(open::on(disk).unwrap()).unwrap();
    for number in 0..20 {
        let key = IdempotencyKey::new(format!("order-{number}")).unwrap();
        let record = RecordId::new(None, &key);
        let claim = Claim::new(Fingerprint::from_bytes([1; 32]), LONG, LONG);
        let token = claim.token;
        syncs.store(0, Relaxed);
        let claimed = store.claim(&record, claim).await.unwrap();
        assert_eq!((claimed, syncs.load(Relaxed)), (Claimed::Ours, 1));
        let done = Ending::Done(Value::new(1, *b"R{}"));
        assert!(store.complete(&record, token, done, LONG).await.unwrap());
        assert_eq!(syncs.load(Relaxed), 2);
    }
}
