//! The state of the connection, as a pure machine: events in, decisions out.
//!
//! It has no clock, no lock and no tasks. The driver passes in the time, and acts on the decisions.
//! Every dial and every connection has a number; an event with another number than the current one
//! changes nothing. [`model`] checks all interleavings.

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
