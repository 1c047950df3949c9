//! The store in a file: which records survive, and which files are refused.

use mcp_resilience::{
    call::IdempotencyKey,
    idempotency::{
        Fingerprint, RecordId,
        store::{Claim, Claimed, Ending, RedbStore, Store, Value, contract},
    },
};
use std::{
    env, fs,
    path::{Path, PathBuf},
    process,
    sync::atomic::{AtomicU32, Ordering::Relaxed},
    time::Duration,
};

const LONG: Duration = Duration::from_secs(600);

/// A temporary file, removed when it is dropped.
struct File(PathBuf);

impl File {
    fn new() -> Self {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let name = format!(
            "keys-{}-{}.redb",
            process::id(),
            NUMBER.fetch_add(1, Relaxed)
        );
        Self(env::temp_dir().join(name))
    }

    fn open(&self) -> RedbStore {
        RedbStore::open(&self.0).unwrap()
    }

    /// Why it cannot be opened.
    fn refused(&self) -> String {
        let mut error: &dyn std::error::Error = &RedbStore::open(&self.0).unwrap_err();
        let mut text = error.to_string();
        assert!(text.contains(self.0.to_str().unwrap()), "{text}");
        while let Some(source) = error.source() {
            text = format!("{text}: {source}");
            error = source;
        }
        text
    }
}

impl Drop for File {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.0);
    }
}

fn claim() -> Claim {
    Claim::new(Fingerprint::from_bytes([1; 32]), LONG, LONG)
}

fn record(key: &str) -> RecordId {
    RecordId::new(None, &IdempotencyKey::new(key).unwrap())
}

#[tokio::test]
async fn the_file_keeps_the_contract() {
    let file = File::new();
    contract::check(file.open()).await;
}

#[tokio::test]
async fn outcomes_survive_a_restart_and_claims_are_unknown_at_once() {
    let file = File::new();
    let store = file.open();
    let (done, running, twice) = (record("done"), record("running"), record("twice"));
    let finished = claim();
    for (record, claim) in [
        (&done, finished.clone()),
        (&running, claim()),
        (&twice, claim()),
    ] {
        assert_eq!(store.claim(record, claim).await.unwrap(), Claimed::Ours);
    }
    let value = Value::new(1, *b"R{}");
    let ending = Ending::Done(value.clone());
    assert!(
        store
            .complete(&done, finished.token, ending, LONG)
            .await
            .unwrap()
    );
    drop(store);

    let store = file.open();
    let claimed = store.claim(&done, claim()).await.unwrap();
    assert_eq!(claimed, Claimed::Done(value));
    let claimed = store.claim(&running, claim()).await.unwrap();
    assert_eq!(claimed, Claimed::Unknown, "its runner is gone");
    let claimed = store
        .claim(&twice, claim().may_run_twice(true))
        .await
        .unwrap();
    assert_eq!(claimed, Claimed::Ours);
}

#[tokio::test]
async fn a_file_is_open_in_one_place() {
    let file = File::new();
    let store = file.open();
    assert!(file.refused().contains("has it open"), "{}", file.refused());
    drop(store);
    file.open();
}

fn unchanged(path: &Path, before: &[u8]) {
    assert_eq!(fs::read(path).unwrap(), before, "the file is as it was");
}

#[tokio::test]
async fn a_file_of_something_else_is_refused_and_left_alone() {
    for bytes in [&b"not a database"[..], &[0; 8192]] {
        let file = File::new();
        fs::write(&file.0, bytes).unwrap();
        file.refused();
        unchanged(&file.0, bytes);
    }
    let file = File::new();
    let other = redb::Database::create(&file.0).unwrap();
    let writing = other.begin_write().unwrap();
    let table = redb::TableDefinition::<&str, u64>::new("something else");
    writing.open_table(table).unwrap().insert("a", 1).unwrap();
    writing.commit().unwrap();
    drop(other);
    assert!(
        file.refused().contains("another program"),
        "{}",
        file.refused()
    );
}

#[tokio::test]
async fn a_file_of_a_later_version_is_refused() {
    let file = File::new();
    drop(file.open());
    let database = redb::Database::open(&file.0).unwrap();
    let writing = database.begin_write().unwrap();
    let numbers = redb::TableDefinition::<&str, u64>::new("mcp-resilience/idempotency");
    let mut table = writing.open_table(numbers).unwrap();
    table.insert("format", 2).unwrap();
    drop(table);
    writing.commit().unwrap();
    drop(database);
    let refused = file.refused();
    assert!(refused.contains("version 2"), "{refused}");
}

#[tokio::test]
async fn a_damaged_file_is_refused_or_fails_and_runs_nothing() {
    let file = File::new();
    let store = file.open();
    for number in 0..50 {
        let record = record(&format!("key-{number}"));
        assert_eq!(store.claim(&record, claim()).await.unwrap(), Claimed::Ours);
    }
    drop(store);
    let whole = fs::read(&file.0).unwrap();
    for (from, length) in [(0, 64), (64, 256), (512, 4096)] {
        let mut damaged = whole.clone();
        damaged[from..from + length].fill(0xA5);
        fs::write(&file.0, &damaged).unwrap();
        let Ok(store) = RedbStore::open(&file.0) else {
            continue;
        };
        for number in 0..50 {
            let record = record(&format!("key-{number}"));
            let claimed = store.claim(&record, claim()).await;
            assert!(
                !matches!(claimed, Ok(Claimed::Ours)),
                "bytes {from}: the claim of key-{number} was forgotten"
            );
        }
    }
    let cut = &whole[..whole.len() / 2];
    fs::write(&file.0, cut).unwrap();
    file.refused();
}

#[tokio::test(start_paused = true)]
async fn records_are_forgotten_after_their_time() {
    let file = File::new();
    let store = file.open();
    let record = record("old");
    let first = claim();
    let token = first.token;
    assert_eq!(store.claim(&record, first).await.unwrap(), Claimed::Ours);
    let done = Ending::Done(Value::new(1, *b"R{}"));
    assert!(store.complete(&record, token, done, LONG).await.unwrap());
    tokio::time::advance(Duration::from_secs(599)).await;
    let kept = store.claim(&record, claim()).await.unwrap();
    assert!(matches!(kept, Claimed::Done(_)), "{kept:?}");
    tokio::time::advance(Duration::from_secs(2)).await;
    assert_eq!(store.claim(&record, claim()).await.unwrap(), Claimed::Ours);
}
