//! Sees the progress that a tool reports, and reports for a silent tool.
//!
//! A tool reports through the [`Peer`](::rmcp::Peer) of its context, so its messages are seen on
//! their way out:
//!
//! | Served by | Seen by |
//! |---|---|
//! | [`Resilient::run`](super::Resilient::run) | [`Wire`], around the transport |
//! | `StreamableHttpService`, or rmcp's `serve` | [`Bridge`], a peer in front of the session's own |

mod bridge;
mod bridges;
mod open;
mod outgoing;
mod reporting;
mod sending;
mod wire;

pub(super) use self::{bridges::Bridges, reporting::Reporting, wire::Wire};
