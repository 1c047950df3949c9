//! Stores of claims and outcomes, and how to write one.
//!
//! | Store | Survives a restart | Several processes | Feature |
//! |---|---|---|---|
//! | [`MemoryStore`] | no | no | |
//! | `RedbStore`, a file | yes | no | `redb` |
//! | `RedisStore`, Redis or Valkey | as durable as the server | yes | `redis` |
//!
//! # A store of your own
//!
//! A record is in one of four states. Each operation is one atomic step.
//!
//! | State | Is |
//! |---|---|
//! | absent | the call is unknown |
//! | claimed | a run has a [`Token`] and a lease; after the end of the lease, the record counts as unknown |
//! | done | the outcome is kept |
//! | unknown | a run began, and its end is unknown |
//!
//! | Operation | On a record that is absent | claimed by this token | claimed by another | unknown | done |
//! |---|---|---|---|---|---|
//! | [`claim`](Store::claim), same fingerprint | claimed: `Ours` | the lease starts again: `Ours` | `Running` | `Unknown`; or claimed: `Ours`, if the tool [may run twice](Claim::may_run_twice) | `Done` |
//! | [`claim`](Store::claim), other fingerprint | | `Conflict` | `Conflict` | `Conflict` | `Conflict` |
//! | [`renew`](Store::renew) | `false` | the lease starts again, also after its end: `true` | `false` | `false` | `false` |
//! | [`complete`](Store::complete) | `false` | done, or unknown: `true` | `false` | as its token says | `true` if by this token, else `false` |
//! | [`release`](Store::release) | `false` | absent: `true` | `false` | as its token says | `false` |
//! | [`settle`](Store::settle) | `false` | `false` while the lease lasts | `false` while the lease lasts | done, or absent: `true` | `false` |
//!
//! A record whose lease has ended keeps its token until another claim takes it over, so that a late
//! run can still complete it.
//!
//! Measure leases with one clock: that of the server if several processes share the store, else a
//! monotonic one. Keep a record for at least [`Claim::keep`] after its last change. If a record is
//! lost, its call runs again. If there is no room for a claim, fail with [`StoreError::full`].
//! Never drop a record early.
//!
//! `contract::check` (feature `test-util`) runs the tests that a store has to pass.

#[cfg(feature = "test-util")]
pub mod contract;
mod error;
#[cfg(feature = "redb")]
mod file;
mod memory;
mod record;
#[cfg(feature = "redis")]
mod redis;

#[cfg(feature = "redb")]
pub use self::file::RedbStore;
#[cfg(feature = "redis")]
pub use self::redis::{RedisBuilder, RedisStore};
pub use self::{
    error::StoreError,
    memory::MemoryStore,
    record::{Claim, Claimed, Ending, Token, Value},
};
use super::RecordId;
use std::{fmt, pin::Pin, time::Duration};

/// The result of a store's operation.
pub type StoreFuture<'a, T> = Pin<Box<dyn Future<Output = Result<T, StoreError>> + Send + 'a>>;

/// Keeps claims and outcomes. See the [module page](self) for each operation.
///
/// If the future of an operation is dropped, the operation may be done or not. A failed operation is
/// repeated with the same token, and must then return the same answer.
///
/// A store that measures another:
///
/// ```
/// use mcp_resilience::idempotency::{
///     RecordId,
///     store::{Claim, Claimed, Ending, Store, StoreFuture, Token, Value},
/// };
/// use std::time::{Duration, Instant};
///
/// #[derive(Debug)]
/// struct Measured<S>(S);
///
/// impl<S: Store> Store for Measured<S> {
///     fn claim<'a>(&'a self, record: &'a RecordId, claim: Claim) -> StoreFuture<'a, Claimed> {
///         Box::pin(async move {
///             let begun = Instant::now();
///             let claimed = self.0.claim(record, claim).await;
///             println!("a claim took {:?}", begun.elapsed());
///             claimed
///         })
///     }
///     // The others are passed on.
/// #     fn renew<'a>(&'a self, record: &'a RecordId, token: Token, lease: Duration) -> StoreFuture<'a, bool> {
/// #         self.0.renew(record, token, lease)
/// #     }
/// #     fn complete<'a>(
/// #         &'a self, record: &'a RecordId, token: Token, ending: Ending, keep: Duration,
/// #     ) -> StoreFuture<'a, bool> {
/// #         self.0.complete(record, token, ending, keep)
/// #     }
/// #     fn release<'a>(&'a self, record: &'a RecordId, token: Token) -> StoreFuture<'a, bool> {
/// #         self.0.release(record, token)
/// #     }
/// #     fn settle<'a>(
/// #         &'a self, record: &'a RecordId, outcome: Option<Value>, keep: Duration,
/// #     ) -> StoreFuture<'a, bool> {
/// #         self.0.settle(record, outcome, keep)
/// #     }
/// #     fn outlives_process(&self) -> bool {
/// #         self.0.outlives_process()
/// #     }
/// }
/// ```
pub trait Store: fmt::Debug + Send + Sync + 'static {
    /// Takes the record for a run, or returns what it holds.
    fn claim<'a>(&'a self, record: &'a RecordId, claim: Claim) -> StoreFuture<'a, Claimed>;

    /// Starts the lease again. `false` if the record is no longer this token's.
    fn renew<'a>(
        &'a self,
        record: &'a RecordId,
        token: Token,
        lease: Duration,
    ) -> StoreFuture<'a, bool>;

    /// Ends the run with this token. `false` if the record is no longer this token's; then nothing
    /// changes.
    fn complete<'a>(
        &'a self,
        record: &'a RecordId,
        token: Token,
        ending: Ending,
        keep: Duration,
    ) -> StoreFuture<'a, bool>;

    /// Removes the claim with this token: nothing ran.
    fn release<'a>(&'a self, record: &'a RecordId, token: Token) -> StoreFuture<'a, bool>;

    /// Settles an unknown call: it ended with this outcome, or did not run. `false` if the record
    /// is not unknown; then nothing changes.
    fn settle<'a>(
        &'a self,
        record: &'a RecordId,
        outcome: Option<Value>,
        keep: Duration,
    ) -> StoreFuture<'a, bool>;

    /// Whether records outlive the process that wrote them. Default: `true`. If not, the server
    /// tells its clients the name of the store, and they do not repeat a call on a server with
    /// another store.
    fn outlives_process(&self) -> bool {
        true
    }
}
