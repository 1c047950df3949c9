//! The readers of what comes from outside: how long to wait, what an envelope says, and what of a
//! call goes into the log.
//!
//! What must hold of whatever comes in stands in [`checks`], which the fuzz targets of `fuzz/` use
//! too; here it is tried with inputs that are made to look like what servers say.
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
