//! Sees the progress that a tool reports, and reports for a silent tool.
//!
//! A tool reports through the router's [`NotificationSender`](::tower_mcp::context::NotificationSender),
//! which the transport sets. For calls with a progress token, the router is exchanged for one whose
//! sender leads to a [`Bridge`], which passes everything on to the transport's.

mod bridge;
mod bridges;
mod reporting;

pub(super) use self::{bridges::Bridges, reporting::Reporting};
