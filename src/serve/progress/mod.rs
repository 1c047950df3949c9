//! The progress that a tool reports, and heartbeats while it reports none.
//!
//! Each report ticks the running attempt. Values never decrease for one token: a lower report is
//! raised to the highest so far.

mod heartbeats;
mod report;

#[cfg(feature = "rmcp")]
pub(crate) use self::report::Beat;
pub(crate) use self::{
    heartbeats::{HEARTBEAT, Heartbeats, SendHeartbeat},
    report::{Heartbeat, Report, Reported, Verdict},
};
