use super::health::Health;
use crate::failure::Failure;
use std::sync::Arc;
use tokio::time::Instant;

/// The number of a dial, including the wait before it.
pub(in crate::reconnect) type DialId = u64;

/// The number of a connection; the first is 1.
pub(in crate::reconnect) type Generation = u64;

/// Idle -> Dialing -> Connected -> Idle, until Down or Closed.
#[derive(Clone, Debug)]
pub(super) enum Phase<C> {
    Idle,
    Dialing(Dialing),
    Connected(Live<C>),
    Down(Arc<Failure>),
    Closed,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Dialing {
    pub(super) id: DialId,
    pub(super) due: Instant,
    pub(super) has_begun: bool,
    // Started without a wait, after a stable connection was lost.
    pub(super) is_at_once: bool,
}

#[derive(Clone, Debug)]
pub(super) struct Live<C> {
    pub(super) connection: C,
    pub(super) generation: Generation,
    pub(super) health: Health,
}
