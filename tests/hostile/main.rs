//! The hostile server itself. It must fail exactly as its page says, because other tests rely on
//! it.
#![allow(
    clippy::unwrap_used,
    reason = "a step that fails must fail the test that takes it"
)]

mod http;
#[path = "../client/support/port.rs"]
mod port;
mod starts;
mod stdio;
mod support;
