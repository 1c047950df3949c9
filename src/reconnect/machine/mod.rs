//! The state of the connection, as a pure machine: events in, decisions out.
//!
//! It has no clock, no lock and no tasks: the driver hands in the time and does what it is told.
//! Every dial and every connection has a number. An event that names a number which is not the
//! current one changes nothing. [`model`] checks all interleavings.

mod calls;
mod decision;
mod health;
#[cfg(test)]
mod model;
mod outage;
mod phase;
mod state;
mod ticket;

pub(super) use self::{
    decision::{Look, Turn},
    health::{NextStep, ProbeId},
    phase::{DialId, Generation},
    state::Machine,
    ticket::Ticket,
};
