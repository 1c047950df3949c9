//! The adapter for rmcp, over real clients, real child processes and real sockets.
#![allow(
    clippy::unwrap_used,
    reason = "a step that fails must fail the test that takes it"
)]

mod adapter;
#[path = "../adapters/mod.rs"]
mod adapters;
mod bad_input;
mod bookshop;
mod process_end;
mod sdk;
mod stale;
mod startup;
mod support;
