//! What the connection is at the moment, and what may become of it. Decides, and waits for nothing.

use super::{dial, lease::Lease, settings::Settings};
use crate::{
    backoff::Ceilings,
    failure::{Class, Delivery, Failure},
};
use std::{mem, sync::Arc, time::Duration};
use tokio::{task::AbortHandle, time::Instant};

/// Connects have no floor of a server's: this keeps the shortest draw from being none.
const SHORTEST_WAIT: Duration = Duration::from_millis(10);

// Idle -> Dialing -> Connected -> Idle, until it is Down or Closed.
pub(super) enum Phase<C> {
    Idle,
    Dialing(AbortHandle),
    Connected { connection: C, lease: Arc<Lease> },
    // For good: no dial would end better.
    Down(Failure),
    Closed,
}

pub(super) struct State<C> {
    pub(super) phase: Phase<C>,
    generation: u64,
    ceilings: Ceilings,
    not_before: Instant,
    last_failure: Option<Failure>,
}

impl<C: Clone> State<C> {
    pub(super) fn new(settings: &Settings) -> Self {
        Self {
            phase: Phase::Idle,
            generation: 0,
            ceilings: settings.backoff.ceilings(),
            not_before: Instant::now(),
            last_failure: None,
        }
    }

    /// The connection for one more call.
    pub(super) fn connection(&self) -> Option<(C, Arc<Lease>)> {
        match &self.phase {
            Phase::Connected { connection, lease } => Some((connection.clone(), Arc::clone(lease))),
            _ => None,
        }
    }

    /// Why there will never be one again.
    pub(super) fn end(&self) -> Option<Failure> {
        match &self.phase {
            Phase::Down(cause) => Some(cause.again()),
            Phase::Closed => Some(shut_down()),
            _ => None,
        }
    }

    pub(super) fn generation(&self) -> u64 {
        self.generation
    }

    /// When the next dial may begin.
    pub(super) fn not_before(&self) -> Instant {
        self.not_before
    }

    /// What the last dial failed of, for a call that waited in vain.
    pub(super) fn last_failure(&self) -> Option<Failure> {
        self.last_failure.as_ref().map(Failure::again)
    }

    /// A dial succeeded. Gives the connection back if nobody wants it any more.
    pub(super) fn connected(&mut self, connection: C) -> Result<(), C> {
        if !matches!(self.phase, Phase::Dialing(_)) {
            return Err(connection);
        }
        self.generation += 1;
        self.last_failure = None;
        let lease = Arc::new(Lease::new(self.generation));
        self.phase = Phase::Connected { connection, lease };
        Ok(())
    }

    /// A dial failed. Says whether another may be made.
    pub(super) fn dial_failed(&mut self, failure: Failure, settings: &Settings) -> bool {
        if !matches!(self.phase, Phase::Dialing(_)) {
            return false;
        }
        let is_first = self.generation == 0 && settings.first_dial_is_fatal;
        if is_first && failure.class() != Class::Fatal {
            let cause = Failure::fatal("cannot connect to the tool server")
                .with_delivery(failure.delivery())
                .because(failure);
            self.phase = Phase::Down(cause);
            return false;
        }
        if dial::is_for_good(&failure) {
            self.phase = Phase::Down(failure);
            return false;
        }
        self.last_failure = Some(failure);
        self.back_off(settings);
        true
    }

    /// Nobody dials any more; the next call may start anew.
    pub(super) fn stop_dialing(&mut self) {
        if matches!(self.phase, Phase::Dialing(_)) {
            self.phase = Phase::Idle;
        }
    }

    /// A call failed in a way that its connection does not outlive. Gives the connection to drop,
    /// if it is still the one in use.
    pub(super) fn retire(&mut self, lease: &Lease, settings: &Settings) -> Option<C> {
        match &self.phase {
            Phase::Connected { lease: current, .. } if current.generation == lease.generation => {}
            _ => return None,
        }
        let is_good = lease.has_answered() || lease.since.elapsed() >= settings.good_after;
        if is_good {
            self.ceilings = settings.backoff.ceilings();
            self.not_before = Instant::now();
        } else {
            self.back_off(settings);
        }
        lease.retire();
        match mem::replace(&mut self.phase, Phase::Idle) {
            Phase::Connected { connection, .. } => Some(connection),
            _ => None,
        }
    }

    /// Ends it for good. Gives what is to be dropped.
    pub(super) fn close(&mut self) -> Phase<C> {
        mem::replace(&mut self.phase, Phase::Closed)
    }

    fn back_off(&mut self, settings: &Settings) {
        let ceiling = self.ceilings.next().unwrap_or_default();
        let wait = settings.jitter.draw(ceiling).max(SHORTEST_WAIT);
        self.not_before = Instant::now() + wait;
    }
}

fn shut_down() -> Failure {
    Failure::cancelled("the connection to the tool server was shut down")
        .with_delivery(Delivery::NotSent)
}
