//! The core, through its public API: no SDK, paused time, exact durations.
#![allow(
    clippy::unwrap_used,
    reason = "a step that fails must fail the test that takes it"
)]

mod backoff;
mod call_log;
mod classify;
mod contract;
mod convert;
mod evidence;
mod failure;
mod fatal;
mod is_error;
mod never_twice;
mod observe;
mod policy;
mod preset;
mod reconnect;
mod retry;
mod retry_after;
mod session;
mod support;
mod surface;
mod timeout;
