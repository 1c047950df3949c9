//! A store in a file, on `redb`.

mod clock;
mod leases;
mod open;
mod record;
#[cfg(test)]
mod tests;
mod transaction;
mod writer;

use self::{
    clock::Clock,
    leases::Leases,
    transaction::{Answer, Operation},
    writer::Writer,
};
use super::{Claim, Claimed, Ending, Store, StoreError, StoreFuture, Token, Value};
use crate::idempotency::RecordId;
use std::{path::Path, sync::Arc, time::Duration};
use tokio::sync::oneshot;

/// Keeps records in a file, so that they survive a restart of the process. Clones share it.
///
/// Only one process can have the file open. A claim is on the disk before its tool runs, and an
/// outcome before its caller gets it. Calls at the same time share a write.
///
/// When the file is opened again, a claim of a process that has ended counts as unknown at once.
///
/// # Time
///
/// No wall clock is used. Records age only while the file is open, so they live at least as long as
/// they have to, and longer if the process was down.
///
/// # Blocking
///
/// A thread of the store reads and writes. Dropping the last clone waits until that thread has
/// finished its work.
#[derive(Clone)]
pub struct RedbStore {
    shared: Arc<Shared>,
}

struct Shared {
    writer: Writer,
    clock: Clock,
    leases: Leases,
}

impl Shared {
    fn send(&self, operation: Operation) {
        self.writer.send(self.clock.now_ms(), operation);
    }

    /// Sends an operation, and waits for its answer.
    fn ask<T: Send + 'static>(
        &self,
        operation: impl FnOnce(Answer<T>) -> Operation,
    ) -> StoreFuture<'static, T> {
        let (answer, answered) = oneshot::channel();
        self.send(operation(answer));
        Box::pin(async move {
            answered.await.unwrap_or_else(|_gone| {
                let text =
                    "the file of idempotency keys is no longer written: see the log, and restart";
                Err(StoreError::new(text))
            })
        })
    }
}

impl RedbStore {
    /// Opens or creates the file, readable only for its owner.
    ///
    /// # Errors
    ///
    /// If the file cannot be read or written, is open in another process, is corrupt, is another kind
    /// of file, or is of a later version. The error has the file and the reason. The file is not
    /// changed.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, StoreError> {
        Self::on(open::open(path.as_ref())?)
    }

    fn on(opened: open::Opened) -> Result<Self, StoreError> {
        let clock = Clock::from(opened.clock_ms);
        let leases = Leases::default();
        let writer = Writer::start(opened, leases.clone())?;
        Ok(Self {
            shared: Arc::new(Shared {
                writer,
                clock,
                leases,
            }),
        })
    }
}

impl Store for RedbStore {
    fn claim<'a>(&'a self, record: &'a RecordId, claim: Claim) -> StoreFuture<'a, Claimed> {
        let claimed = |answer| Operation::Claim(*record, claim, answer);
        self.shared.ask(claimed)
    }

    /// Rarely writes, since the leases are in memory.
    fn renew<'a>(
        &'a self,
        record: &'a RecordId,
        token: Token,
        lease: Duration,
    ) -> StoreFuture<'a, bool> {
        let Shared { clock, leases, .. } = &*self.shared;
        let renewed = leases.renew(record, token, clock.now_ms(), lease);
        if renewed.is_to_be_written {
            self.shared.send(Operation::Keep(*record, token));
        }
        Box::pin(std::future::ready(Ok(renewed.is_ours)))
    }

    fn complete<'a>(
        &'a self,
        record: &'a RecordId,
        token: Token,
        ending: Ending,
        keep: Duration,
    ) -> StoreFuture<'a, bool> {
        let completed = |answer| Operation::Complete(*record, token, ending, keep, answer);
        self.shared.ask(completed)
    }

    fn release<'a>(&'a self, record: &'a RecordId, token: Token) -> StoreFuture<'a, bool> {
        let released = |answer| Operation::Release(*record, token, answer);
        self.shared.ask(released)
    }

    fn settle<'a>(
        &'a self,
        record: &'a RecordId,
        outcome: Option<Value>,
        keep: Duration,
    ) -> StoreFuture<'a, bool> {
        let settled = |answer| Operation::Settle(*record, outcome, keep, answer);
        self.shared.ask(settled)
    }
}

debug_name!(RedbStore);
