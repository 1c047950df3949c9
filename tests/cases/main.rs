//! Reported bugs of MCP servers, clients and retry libraries. Each is a test of what this crate
//! promises instead.
//!
//! A test is named after the number of its report. Numbers have gaps if two reports were about one bug.
//! Each test covers the kind of fault, and not only the input of the report. Shared code is in
//! [`stack`].
//!
//! # Where the reports disagree
//!
//! | Case | What holds here |
//! |---|---|
//! | 9, 12, 92 | an error that nobody foresaw is flagged, but its text is for the log alone; a call that was cancelled is an error and no result |
//! | 10 | what a server says as a JSON-RPC error stays one |
//! | 17 | no word of a text makes a failure a timeout; a type, or a rule of the user's, does |
//! | 30 | what one retry gave up, no other repeats: three attempts, and not nine |
//! | 40 | a wait of zero is no wait that was asked for |
//! | 44, 49 | a wait that is too long is not shortened: the call ends at once and says so |
//! | 55 | a session that is lost has a class of its own |
//! | 66 | a variable that is empty is missing, unless the caller says that it may be |
//! | 75 | no log fails a call; who has to keep one of every call asks its sink |
//!
//! Cases 121, 123 and 124 are with the tests of the client, in `signals`, `limits` and `progress`.
//!
//! # Cases that do not concern this crate
//!
//! None: each collected case applies to a server or a client in Rust. Three apply only in part. 81:
//! numbers are as the SDK's JSON type holds them, so a number out of its range is refused and not
//! rounded. 82: that type has no NaN. 83: a string in Rust has no half of a surrogate pair.
#![allow(
    clippy::unwrap_used,
    reason = "a step that fails must fail the test that takes it"
)]

mod cancellation;
mod classification;
#[cfg(feature = "rmcp-client-http")]
mod client;
mod concurrency;
mod fatal;
mod is_error;
#[cfg(feature = "rmcp")]
mod lifecycle;
mod logging;
mod reconnect;
mod retry;
mod retry_after;
#[cfg(feature = "rmcp")]
mod served_log;
#[cfg(feature = "rmcp")]
mod server;
mod stack;

#[cfg(feature = "rmcp-client-http")]
#[path = "../client/support/mod.rs"]
#[allow(
    dead_code,
    unused_imports,
    reason = "other tests need more of it than these"
)]
mod peer;
#[cfg(feature = "rmcp")]
#[path = "../rmcp/support/mod.rs"]
#[allow(
    dead_code,
    unused_imports,
    unused_macros,
    reason = "other tests need more of it than these"
)]
mod served;
#[path = "../core/support/mod.rs"]
#[allow(
    dead_code,
    unused_imports,
    reason = "other tests need more of it than these"
)]
mod support;
