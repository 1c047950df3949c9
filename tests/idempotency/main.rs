//! Calls with a key, seen from outside: each runs once, and brings its first answer.
#![allow(
    clippy::unwrap_used,
    reason = "a step that fails must fail the test that takes it"
)]

mod contract;
mod keys;
mod layer;
mod model;
mod stored;
mod support;
