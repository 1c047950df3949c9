//! The readers of input from outside: waits, envelopes, and the parts of a call that go into the
//! log.
//!
//! The properties are in [`checks`], which the fuzz targets in `fuzz/` use too. These tests check
//! them with generated inputs that resemble the texts of servers.
#![allow(
    clippy::unwrap_used,
    reason = "a step that fails must fail the test that takes it"
)]

mod checks;
mod inputs;
mod limit;
mod properties;
#[path = "../schema/mod.rs"]
mod schema;
