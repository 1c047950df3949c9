use super::{
    decision::{Ended, Look, Turn},
    health::Health,
    outage::Outages,
    phase::{DialId, Dialing, Generation, Live, Phase},
    ticket::Ticket,
};
use crate::{
    failure::{Class, Failure, Witness},
    reconnect::{settings::Settings, status::ConnectionState},
};
use std::{mem, sync::Arc, time::Duration};
use tokio::time::Instant;

/// The state itself. See the [module page](super).
#[derive(Clone, Debug)]
pub(in crate::reconnect) struct Machine<C> {
    pub(super) phase: Phase<C>,
    pub(super) outages: Outages,
    dials: DialId,
    generation: Generation,
    // Callers between `join` and `leave`.
    waiting: usize,
    // The last connection that was retired, and whether repeats of its calls are paced.
    pub(super) retired: Option<(Generation, bool)>,
    first_dial_is_fatal: bool,
    pub(super) stable_after: Duration,
    pub(super) first_wait: Duration,
    pub(super) give_up_limit: Option<u32>,
}

impl<C: Clone> Machine<C> {
    pub(in crate::reconnect) fn new(settings: &Settings) -> Self {
        Self {
            phase: Phase::Idle,
            outages: Outages::new(settings),
            dials: 0,
            generation: 0,
            waiting: 0,
            retired: None,
            first_dial_is_fatal: settings.first_dial_is_fatal,
            stable_after: settings.stable_after,
            first_wait: settings.backoff.ceilings().next().unwrap_or_default(),
            give_up_limit: settings.give_up_limit,
        }
    }

    pub(in crate::reconnect) fn connection(&self) -> Option<(&C, Generation)> {
        match &self.phase {
            Phase::Connected(live) => Some((&live.connection, live.generation)),
            _ => None,
        }
    }

    /// The failure that the machine keeps.
    pub(in crate::reconnect) fn failure(&self) -> Option<Arc<Failure>> {
        match &self.phase {
            Phase::Down(failure) => Some(Arc::clone(failure)),
            _ => self.outages.failure(),
        }
    }

    /// How many connections there have been.
    pub(in crate::reconnect) fn generation(&self) -> Generation {
        self.generation
    }

    pub(in crate::reconnect) fn state(&self) -> ConnectionState {
        match &self.phase {
            Phase::Dialing(dial) if dial.has_begun => ConnectionState::Connecting,
            Phase::Idle | Phase::Dialing(_) => self.outages.state(),
            Phase::Connected(live) => ConnectionState::Connected {
                generation: live.generation,
            },
            Phase::Down(failure) => ConnectionState::Down {
                failure: Arc::clone(failure),
            },
            Phase::Closed => ConnectionState::Closed,
        }
    }

    /// How long a new call may wait.
    pub(in crate::reconnect) fn ticket(&self, now: Instant, ready_timeout: Duration) -> Ticket {
        match self.phase {
            // The ticket is used only if the connection is lost first.
            Phase::Connected(_) => Ticket::new(now, ready_timeout),
            _ => self.outages.ticket(now, ready_timeout),
        }
    }

    /// The same, for the end of one dial at most.
    pub(in crate::reconnect) fn ticket_for_one_dial(
        &self,
        now: Instant,
        ready_timeout: Duration,
    ) -> Ticket {
        self.outages.ticket_for_one_dial(now, ready_timeout)
    }

    /// A caller begins to wait.
    pub(in crate::reconnect) fn join(&mut self) {
        self.waiting += 1;
    }

    /// A caller stops waiting.
    pub(in crate::reconnect) fn leave(&mut self) {
        self.waiting = self.waiting.saturating_sub(1);
    }

    /// The next step of a waiting caller.
    pub(in crate::reconnect) fn look(&mut self, ticket: &Ticket, now: Instant) -> Look<C> {
        match &self.phase {
            Phase::Connected(live) => return Look::Use(live.connection.clone(), live.generation),
            Phase::Down(cause) => return Look::Fail(cause.duplicate()),
            Phase::Closed => return Look::Fail(shut_down()),
            // Wait for the end of a dial that has begun.
            Phase::Dialing(dial) if dial.has_begun && !self.outages.is_over(ticket) => {
                return Look::Wait;
            }
            Phase::Idle | Phase::Dialing(_) => {}
        }
        if let Some(failure) = self.outages.refusal(ticket, now) {
            return Look::Fail(failure);
        }
        match self.phase {
            Phase::Dialing(_) => Look::Wait,
            _ => Look::Dial(self.schedule(now)),
        }
    }

    /// The failure of a caller whose time to wait has ended.
    pub(in crate::reconnect) fn too_late(&self, ticket: &Ticket) -> Failure {
        self.outages.too_late(ticket)
    }

    /// Whether a dial is due. A dial without a waiting call does not begin.
    pub(in crate::reconnect) fn turn(&mut self, id: DialId, now: Instant) -> Turn {
        let nobody_waits = self.waiting == 0;
        match &mut self.phase {
            Phase::Dialing(dial) if dial.id == id && !dial.has_begun => {
                if nobody_waits {
                    self.phase = Phase::Idle;
                    return Turn::Stop;
                }
                if now < dial.due {
                    return Turn::WaitUntil(dial.due);
                }
                dial.has_begun = true;
                Turn::Dial
            }
            _ => Turn::Stop,
        }
    }

    /// The ceiling from which the wait after the next failure is drawn.
    pub(in crate::reconnect) fn ceiling(&self) -> Duration {
        self.outages.ceiling()
    }

    /// A dial made a connection, or failed. `wait` was drawn for this failure.
    pub(in crate::reconnect) fn dial_ended(
        &mut self,
        id: DialId,
        result: Result<(C, bool), Failure>,
        wait: Duration,
        now: Instant,
    ) -> Ended<C> {
        let stop = |connected, unwanted| Ended {
            next: None,
            connected,
            unwanted,
        };
        let dial = match &self.phase {
            Phase::Dialing(dial) if dial.id == id && dial.has_begun => *dial,
            _ => return stop(None, Some(result.map(|(connection, _)| connection))),
        };
        match result {
            Ok((connection, can_be_probed)) => {
                self.generation += 1;
                self.phase = Phase::Connected(Live {
                    connection,
                    generation: self.generation,
                    health: Health::new(now, can_be_probed, dial.is_at_once),
                });
                stop(Some(self.generation), None)
            }
            Err(failure) => {
                let next = self.dial_failed(failure, wait, now);
                Ended {
                    next,
                    connected: None,
                    unwanted: None,
                }
            }
        }
    }

    fn dial_failed(&mut self, failure: Failure, wait: Duration, now: Instant) -> Option<DialId> {
        self.phase = Phase::Idle;
        if failure.class() == Class::Fatal {
            self.phase = Phase::Down(Arc::new(failure));
            return None;
        }
        if self.generation == 0 && self.first_dial_is_fatal {
            let cause = Failure::fatal("cannot connect to the tool server")
                .reached(failure.delivery(), Witness::Connection)
                .because(failure);
            self.phase = Phase::Down(Arc::new(cause));
            return None;
        }
        self.outages.dial_failed(failure, wait, now);
        (self.waiting > 0).then(|| self.schedule(now))
    }

    /// The task of a dial ended without a result, for example with its runtime.
    pub(in crate::reconnect) fn dial_died(&mut self, id: DialId) {
        if matches!(&self.phase, Phase::Dialing(dial) if dial.id == id) {
            self.phase = Phase::Idle;
        }
    }

    fn schedule(&mut self, now: Instant) -> DialId {
        self.dials += 1;
        let due = self.outages.due();
        self.phase = Phase::Dialing(Dialing {
            id: self.dials,
            due: due.unwrap_or(now).max(now),
            has_begun: false,
            is_at_once: due.is_none() && self.generation > 0,
        });
        self.dials
    }

    pub(super) fn retire(&mut self, is_paced: bool) -> Option<C> {
        match mem::replace(&mut self.phase, Phase::Idle) {
            Phase::Connected(live) => {
                self.retired = Some((live.generation, is_paced));
                Some(live.connection)
            }
            other => {
                self.phase = other;
                None
            }
        }
    }

    /// Clears the backoff, the last failure and the state `Down`.
    pub(in crate::reconnect) fn reset(&mut self, now: Instant) {
        self.outages.reset();
        match &mut self.phase {
            Phase::Down(_) => self.phase = Phase::Idle,
            Phase::Dialing(dial) if !dial.has_begun => dial.due = now,
            _ => {}
        }
    }

    /// Resets, and retires the connection.
    pub(in crate::reconnect) fn renew(&mut self, now: Instant) -> Option<C> {
        self.reset(now);
        self.retire(true)
    }

    /// Closes the machine for good. Returns the connection, to be dropped.
    pub(in crate::reconnect) fn close(&mut self) -> Option<C> {
        let connection = self.retire(false);
        self.phase = Phase::Closed;
        connection
    }

    /// The current dial, for the model.
    #[cfg(test)]
    pub(super) fn dialing(&self) -> Option<DialId> {
        match &self.phase {
            Phase::Dialing(dial) => Some(dial.id),
            _ => None,
        }
    }

    #[cfg(test)]
    pub(super) fn waiting(&self) -> usize {
        self.waiting
    }

    pub(super) fn live(&mut self, generation: Generation) -> Option<&mut Live<C>> {
        match &mut self.phase {
            Phase::Connected(live) if live.generation == generation => Some(live),
            _ => None,
        }
    }
}

fn shut_down() -> Failure {
    Failure::cancelled("the connection to the tool server was shut down").not_sent()
}
