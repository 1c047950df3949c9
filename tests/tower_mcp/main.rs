//! The adapter for tower-mcp: the suites that it has in common with the adapter for rmcp, and tests of its own.
#![allow(
    clippy::unwrap_used,
    reason = "a step that fails must fail the test that takes it"
)]

#[path = "../adapters/mod.rs"]
mod adapters;
#[path = "../rmcp/bookshop/mod.rs"]
mod bookshop;
mod client;
mod keyed;
mod progress;
mod refused;
mod sdk;
#[path = "../rmcp/startup.rs"]
mod startup;
#[allow(
    dead_code,
    unused_imports,
    reason = "the tests for rmcp have more in this process"
)]
#[path = "../rmcp/support/mod.rs"]
mod support;
