//! Shared by the tests of the client: servers as processes, and their records.

pub(crate) mod answered;
mod frozen;
mod hostile;
mod log;
mod peers;
mod port;
mod process;
mod program;
mod proxy;
#[allow(clippy::duplicate_mod, reason = "other test binaries have it too")]
#[path = "../../schema/mod.rs"]
mod schema;
pub(crate) mod scripted;
#[allow(clippy::duplicate_mod, reason = "other test binaries have it too")]
#[path = "../../rmcp/support/traced.rs"]
mod traced;

pub(crate) use self::{
    frozen::FrozenClock,
    hostile::{Ledger, call},
    log::Log,
    peers::{Peer, kill_last},
    port::Port,
    process::{Process, is_alive, is_running},
    program::program,
    proxy::Proxy,
    scripted::Scripted,
    traced::Traced,
};
use mcp_resilience::{
    ResilienceLayer,
    backoff::{Backoff, Jitter},
    call_log::CallLogLayer,
    policy::Policy,
    preset::ResilienceBuilder,
    reconnect::{ReconnectBuilder, ReconnectLayer},
    retry::{RetryBuilder, RetryLayer},
};
use std::time::Duration;

pub(crate) const MS: Duration = Duration::from_millis(1);
pub(crate) const SECOND: Duration = Duration::from_secs(1);

/// How long a test waits for anything before it fails: far longer than anything takes.
pub(crate) const LIMIT: Duration = Duration::from_secs(300);

/// The output of `future`. Fails the test if it takes too long.
pub(crate) async fn within<T>(what: &str, future: impl Future<Output = T>) -> T {
    let limited = tokio::time::timeout(LIMIT, future).await;
    limited.unwrap_or_else(|_| panic!("waited {LIMIT:?} for {what}"))
}

/// Attempts of 10 s in a call that may take as long as a busy machine needs, with short waits.
pub(crate) fn retry() -> RetryBuilder {
    let backoff = Backoff::new(10 * MS, 100 * MS).unwrap();
    RetryLayer::builder()
        .backoff(backoff)
        .policy(Policy::new().no_budget())
        .deadline(600 * SECOND)
}

pub(crate) fn resilience(log: &Log, retry: RetryBuilder) -> ResilienceBuilder {
    ResilienceLayer::builder()
        .retry(retry.build().unwrap())
        .attempt_timeout(10 * SECOND)
        .log(CallLogLayer::new(log.clone()))
}

/// Dials again soon.
pub(crate) fn reconnect() -> ReconnectBuilder<()> {
    ReconnectLayer::builder(())
        .backoff(Backoff::new(20 * MS, 200 * MS).unwrap())
        .jitter(Jitter::none())
        .dial_timeout(120 * SECOND)
}
