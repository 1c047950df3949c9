//! Requests over streamable HTTP, and their answers.
//!
//! This folder does not depend on an MCP client. rmcp's own HTTP client loses the status, the
//! `Retry-After` or the error of many answers, drops errors without an id so that the call hangs, and
//! resumes a stream without a limit.

mod answer;
mod backend;
mod body;
mod challenge;
mod credentials;
mod error;
mod events;
mod get;
mod headers;
mod known;
mod parser;
mod refused;
mod reported;
mod session_loss;
mod standing;

pub(super) use self::{
    backend::Backend,
    credentials::{Credentials, Source},
    known::Known,
    reported::{cause, classify},
};
pub use self::{
    challenge::Challenge,
    error::{HttpError, HttpRefusal},
};
