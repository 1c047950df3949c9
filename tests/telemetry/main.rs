//! Spans, metrics and log lines of a call, and that they agree.
#![allow(
    clippy::unwrap_used,
    reason = "a step that fails must fail the test that takes it"
)]

mod agree;
mod context;
mod exporters;
mod metrics;
mod processes;
mod recorded;
mod report;
mod spans;

#[path = "../core/support/mod.rs"]
#[allow(
    dead_code,
    unused_imports,
    reason = "other tests need more of it than these"
)]
mod support;
