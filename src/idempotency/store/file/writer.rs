use super::{
    leases::Leases,
    open::Opened,
    transaction::{Done, Operation, Tables},
};
use crate::{classify::catch_panic, failure::Failure, idempotency::store::StoreError};
use redb::Database;
use std::{
    sync::mpsc::{Receiver, Sender, channel},
    thread::{self, JoinHandle},
};

/// The most operations in one transaction.
const MAX_BATCH: usize = 256;

/// The thread that reads and writes the file.
pub(super) struct Writer {
    // Taken when the writer is dropped, so that the thread ends.
    operations: Option<Sender<(u64, Operation)>>,
    thread: Option<JoinHandle<()>>,
}

impl Writer {
    pub(super) fn start(opened: Opened, leases: Leases) -> Result<Self, StoreError> {
        let (operations, asked) = channel();
        let write = move || write(&opened.database, &leases, &asked);
        let thread = thread::Builder::new().name("idempotency-keys".to_owned());
        let thread = thread.spawn(write).map_err(|error| {
            StoreError::new("cannot start the thread that writes idempotency keys").because(error)
        })?;
        Ok(Self {
            operations: Some(operations),
            thread: Some(thread),
        })
    }

    /// Sends an operation to the thread. If the thread has ended, the answer is an error.
    pub(super) fn send(&self, now_ms: u64, operation: Operation) {
        if let Some(operations) = &self.operations {
            let _ = operations.send((now_ms, operation));
        }
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        self.operations = None;
        if let Some(thread) = self.thread.take() {
            // The thread has already reported a panic.
            let _ = thread.join();
        }
    }
}

fn write(database: &Database, leases: &Leases, asked: &Receiver<(u64, Operation)>) {
    let mut now_ms = 0;
    while let Ok(first) = asked.recv() {
        let more = asked.try_iter().take(MAX_BATCH - 1);
        let mut operations = Vec::new();
        for (at_ms, operation) in std::iter::once(first).chain(more) {
            now_ms = now_ms.max(at_ms);
            operations.push(operation);
        }
        // The library may panic on a damaged file. After a panic, no call is claimed.
        let written = catch_panic(|| transact(database, leases, now_ms, operations));
        if let Err(panic) = written {
            tracing::error!(error = %panic.chain(), "the file of idempotency keys is damaged: no call with a key runs any more");
            return;
        }
    }
}

/// Performs all operations or none. Sends the answers once everything is on the disk.
fn transact(database: &Database, leases: &Leases, now_ms: u64, operations: Vec<Operation>) {
    let mut done = Vec::with_capacity(operations.len());
    let written = (|| {
        let writing = database.begin_write().map_err(redb::Error::from)?;
        let changed = {
            let mut tables = Tables::open(&writing, leases, now_ms)?;
            if let Err(error) = tables.expire() {
                let failure = Failure::crash(error);
                tracing::warn!(error = %failure.chain(), "expired records cannot be removed");
            }
            done.extend(
                operations
                    .into_iter()
                    .map(|operation| tables.run(operation)),
            );
            tables.into_changed()
        };
        writing.commit().map_err(redb::Error::from)?;
        leases.change(changed);
        Ok::<_, redb::Error>(())
    })();
    let failed = written.err().map(|error| error.to_string());
    for done in done {
        let lost = || {
            failed.as_ref().map(|error| {
                StoreError::new(format!(
                    "the file of idempotency keys cannot be written: {error}"
                ))
            })
        };
        // The receiver may be gone.
        match done {
            Done::Claimed(answer, claimed) => {
                let _ = answer.send(lost().map_or(claimed, Err));
            }
            Done::Changed(answer, changed) => {
                let _ = answer.send(lost().map_or(changed, Err));
            }
            Done::Kept => {}
        }
    }
}
