//! What the connection is at the moment, and what may become of it. Decides, and waits for nothing.

use super::{dial, lease::Lease, settings::Settings};
use crate::{
    backoff::Ceilings,
    failure::{Class, Failure, Stopped, Witness},
};
use std::{mem, sync::Arc, time::Duration};
use tokio::time::Instant;

// Idle -> Dialing -> Connected -> Idle, until it is Down or Closed.
pub(super) enum Phase<C> {
    Idle,
    Dialing,
    Connected { connection: C, lease: Arc<Lease> },
    // For good: no dial would end better.
    Down(Failure),
    Closed,
}

/// When it last went wrong, and what has to be waited out before the next dial.
#[derive(Clone, Copy)]
pub(super) struct Setback {
    pub(super) since: Instant,
    /// What the server asked for.
    pub(super) floor: Duration,
    pub(super) ceiling: Duration,
}

pub(super) struct State<C> {
    pub(super) phase: Phase<C>,
    generation: u64,
    ceilings: Ceilings,
    setback: Option<Setback>,
    last_failure: Option<Failure>,
}

impl<C: Clone> State<C> {
    pub(super) fn new(settings: &Settings) -> Self {
        Self {
            phase: Phase::Idle,
            generation: 0,
            ceilings: settings.backoff.ceilings(),
            setback: None,
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

    pub(super) fn is_connected(&self) -> bool {
        matches!(self.phase, Phase::Connected { .. })
    }

    /// What a call gets at once that would not wait for as long as the server asked.
    pub(super) fn is_too_long(&self, until: Instant) -> Option<Failure> {
        let setback = self.setback?;
        let remains = setback.floor.saturating_sub(setback.since.elapsed());
        // One beyond the end of time is too long for anybody.
        let is_in_time = |due: Instant| due < until;
        if remains.is_zero() || Instant::now().checked_add(remains).is_some_and(is_in_time) {
            return None;
        }
        let mut failure = self.last_failure()?.with_retry_after(remains);
        failure.set_stopped(Stopped::HintTooLong);
        Some(failure.not_sent())
    }

    pub(super) fn setback(&self) -> Option<Setback> {
        self.setback
    }

    /// Says whether it was idle, and so whether it is now for the caller to dial.
    pub(super) fn begin_dialing(&mut self) -> bool {
        let is_idle = matches!(self.phase, Phase::Idle);
        if is_idle {
            self.phase = Phase::Dialing;
        }
        is_idle
    }

    /// What the last dial failed of, for a call that waited in vain.
    pub(super) fn last_failure(&self) -> Option<Failure> {
        self.last_failure.as_ref().map(Failure::again)
    }

    /// A dial succeeded. Gives the connection back if nobody wants it any more.
    pub(super) fn connected(&mut self, connection: C) -> Result<(), C> {
        if !matches!(self.phase, Phase::Dialing) {
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
        if !matches!(self.phase, Phase::Dialing) {
            return false;
        }
        let is_first = self.generation == 0 && settings.first_dial_is_fatal;
        if is_first && failure.class() != Class::Fatal {
            let cause = Failure::fatal("cannot connect to the tool server")
                .reached(failure.delivery(), Witness::Connection)
                .because(failure);
            self.phase = Phase::Down(cause);
            return false;
        }
        if dial::is_for_good(&failure) {
            self.phase = Phase::Down(failure);
            return false;
        }
        self.back_off(&failure);
        self.last_failure = Some(failure);
        true
    }

    /// Nobody dials any more; the next call may start anew.
    pub(super) fn stop_dialing(&mut self) {
        if matches!(self.phase, Phase::Dialing) {
            self.phase = Phase::Idle;
        }
    }

    /// A call failed in a way that its connection does not outlive. Gives the connection to drop,
    /// if it is still the one in use.
    pub(super) fn retire(
        &mut self,
        lease: &Lease,
        failure: &Failure,
        settings: &Settings,
    ) -> Option<C> {
        match &self.phase {
            Phase::Connected { lease: current, .. } if current.generation == lease.generation => {}
            _ => return None,
        }
        // An answer does not make a session good that is lost soon after: behind a balancer that sends
        // each request elsewhere, all of them are.
        let is_session = failure.class() == Class::SessionLost;
        let is_good =
            (lease.has_answered() && !is_session) || lease.since.elapsed() >= settings.good_after;
        if is_good {
            self.ceilings = settings.backoff.ceilings();
            self.setback = None;
        } else {
            self.last_failure = Some(failure.again());
            self.back_off(failure);
        }
        lease.retire();
        match mem::replace(&mut self.phase, Phase::Idle) {
            Phase::Connected { connection, .. } => Some(connection),
            _ => None,
        }
    }

    /// Ends it for good. Gives what is to be dropped.
    pub(super) fn close(&mut self) -> Phase<C> {
        if let Phase::Connected { lease, .. } = &self.phase {
            lease.retire();
        }
        mem::replace(&mut self.phase, Phase::Closed)
    }

    fn back_off(&mut self, failure: &Failure) {
        self.setback = Some(Setback {
            since: Instant::now(),
            floor: failure.retry_after().unwrap_or_default(),
            ceiling: self.ceilings.next().unwrap_or_default(),
        });
    }
}

fn shut_down() -> Failure {
    Failure::cancelled("the connection to the tool server was shut down").not_sent()
}
