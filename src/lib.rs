//! Resilience middleware for MCP tool services.

pub mod backoff;
pub mod call;
pub mod call_log;
pub mod classify;
pub mod failure;
pub mod fatal;
pub mod is_error;
mod ledger;
pub mod preset;
pub mod reconnect;
pub mod retry;
#[cfg(feature = "rmcp")]
pub mod rmcp;

pub use self::{
    failure::{Class, Delivery, Failure},
    preset::ResilienceLayer,
};
