//! Where claims and outcomes are kept, and how to write another store.
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
//! | absent | nothing is known of the call |
//! | claimed | a run has a [`Token`] and a lease; once the lease has ended, the record counts as unknown |
//! | done | the outcome is kept |
//! | unknown | a run began, and nobody knows how it ended |
//!
//! | Operation | On a record that is absent | claimed by this token | claimed by another | unknown | done |
//! |---|---|---|---|---|---|
//! | [`claim`](Store::claim), same fingerprint | claimed: `Ours` | the lease starts anew: `Ours` | `Running` | `Unknown`; or claimed: `Ours`, if the tool [may run twice](Claim::may_run_twice) | `Done` |
//! | [`claim`](Store::claim), other fingerprint | | `Conflict` | `Conflict` | `Conflict` | `Conflict` |
//! | [`renew`](Store::renew) | `false` | the lease starts anew, also after its end: `true` | `false` | `false` | `false` |
//! | [`complete`](Store::complete) | `false` | done, or unknown: `true` | `false` | as its token says | `true` if by this token, else `false` |
//! | [`release`](Store::release) | `false` | absent: `true` | `false` | as its token says | `false` |
//! | [`settle`](Store::settle) | `false` | `false` while the lease lasts | `false` while the lease lasts | done, or absent: `true` | `false` |
//!
//! A record whose lease has ended keeps its token until another claim takes it over: a run that was
//! only late may still complete it.
//!
//! Measure leases by one clock: that of the server if several processes share the store, else one that
//! never goes back. Keep a record for at least [`Claim::keep`] after its last change, and longer rather
//! than shorter if in doubt: a record that is lost lets the call run again. If there is no room for a
//! claim, fail: never drop a record before its time.
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
mod token;

#[cfg(feature = "redb")]
pub use self::file::RedbStore;
#[cfg(feature = "redis")]
pub use self::redis::{RedisBuilder, RedisStore};
pub use self::{
    error::StoreError,
    memory::MemoryStore,
    record::{Claim, Claimed, Ending, Value},
    token::Token,
};
use super::RecordId;
use std::{fmt, pin::Pin, time::Duration};

/// What a store's operation returns.
pub type StoreFuture<'a, T> = Pin<Box<dyn Future<Output = Result<T, StoreError>> + Send + 'a>>;

/// Keeps claims and outcomes. See the [module page](self) for what each operation does.
///
/// Dropping the future of an operation may leave it done or undone. An operation that failed is made
/// again with the same token, and has to give the same answer then.
pub trait Store: fmt::Debug + Send + Sync + 'static {
    /// Takes the record for a run, or says what it holds.
    fn claim<'a>(&'a self, record: &'a RecordId, claim: Claim) -> StoreFuture<'a, Claimed>;

    /// Starts the lease anew. `false` if the record is no longer this token's.
    fn renew<'a>(
        &'a self,
        record: &'a RecordId,
        token: Token,
        lease: Duration,
    ) -> StoreFuture<'a, bool>;

    /// Ends the run that has this token. `false` if the record is no longer this token's; then
    /// nothing changes.
    fn complete<'a>(
        &'a self,
        record: &'a RecordId,
        token: Token,
        ending: Ending,
        keep: Duration,
    ) -> StoreFuture<'a, bool>;

    /// Forgets the claim that has this token: nothing ran.
    fn release<'a>(&'a self, record: &'a RecordId, token: Token) -> StoreFuture<'a, bool>;

    /// Says what became of an unknown call: its outcome, or that it did not run. `false` if the record
    /// is not unknown; then nothing changes.
    fn settle<'a>(
        &'a self,
        record: &'a RecordId,
        outcome: Option<Value>,
        keep: Duration,
    ) -> StoreFuture<'a, bool>;

    /// Whether a record outlives the process that wrote it, for whoever serves in its place: `true`, unless
    /// you say otherwise. Of a store whose records do not, a client is told which one it is: it makes no
    /// call again with another.
    fn outlives_process(&self) -> bool {
        true
    }
}
