//! Sees the progress that a tool reports, and reports for a tool that says nothing.
//!
//! A tool reports through the [`Peer`](::rmcp::Peer) of its context, so its messages are seen where they
//! leave:
//!
//! | Served by | Seen by |
//! |---|---|
//! | [`Resilient::run`](super::Resilient::run) | [`Wire`], around the transport |
//! | `StreamableHttpService`, or rmcp's `serve` | [`Bridge`], a peer in front of the session's own |
//!
//! Each report ticks the attempt that runs. Values never decrease for one token: a report below an
//! earlier one is raised to that.

mod bridge;
mod bridges;
mod open;
mod outgoing;
mod report;
mod reporting;
mod sending;
mod wire;

pub(super) use self::{
    bridges::Bridges,
    report::{Report, Reported},
    reporting::Reporting,
    wire::Wire,
};
