//! A child process: its start, its group, the last lines that it wrote, and its end.
//!
//! This folder does not depend on MCP.

mod group;
mod stderr_tail;
mod stdout;
mod supervisor;

pub(super) use self::{stderr_tail::Sink, supervisor::Process};
