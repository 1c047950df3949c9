//! Calls with a key, through the public API: each runs once, and each attempt gets the first
//! answer.
#![allow(
    clippy::unwrap_used,
    reason = "a step that fails must fail the test that takes it"
)]

#[cfg(feature = "test-util")]
mod contract;
#[cfg(all(feature = "redb", feature = "test-util"))]
mod file;
mod keys;
mod layer;
mod model;
mod model_rounds;
#[cfg(all(feature = "redis", feature = "test-util"))]
mod redis;
mod rounds;
mod stored;
mod support;
