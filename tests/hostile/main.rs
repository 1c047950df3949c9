//! The hostile server itself: it must fail exactly as its page says, or what is proved with it is
//! proved by nothing.
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
