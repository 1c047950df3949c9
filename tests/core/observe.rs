//! An observer sees the decisions of the layers and does not change them.

mod fatal;
mod flagged;
mod limits;
mod preset;
mod quiet;
mod retry;

use mcp_resilience::{
    backoff::{Backoff, Jitter},
    retry::{RetryBuilder, RetryLayer},
};
use std::time::Duration;

const SECOND: Duration = Duration::from_secs(1);

/// Waits of 1, 2 and 4 s to the millisecond.
fn exact() -> RetryBuilder {
    RetryLayer::builder()
        .backoff(Backoff::new(SECOND, 4 * SECOND).unwrap())
        .jitter(Jitter::none())
}
