//! Calls that wait for a connection.

use super::{
    dialing,
    machine::{Generation, Look, Machine, Ticket},
    shared::Shared,
};
use crate::failure::Failure;
use std::{sync::Arc, time::Duration};
use tokio::time::{self, Instant};

impl<C: Clone + Send + 'static> Shared<C> {
    /// The ticket of a call that begins to wait now.
    pub(super) fn ticket(&self) -> Ticket {
        let ready_timeout = self.settings.ready_timeout_of_a_call();
        self.tell(|machine| machine.ticket(Instant::now(), ready_timeout))
    }

    /// The ticket of a call that had a connection when it began.
    pub(super) fn patient_ticket(&self) -> Ticket {
        Ticket::new(Instant::now(), self.settings.ready_timeout_of_a_call())
    }

    /// The ticket of a caller that waits for the result of a dial.
    pub(super) fn ticket_for_a_dial(&self) -> Ticket {
        let ready_timeout = self.ready_timeout_with_a_dial();
        self.tell(|machine| machine.ticket(Instant::now(), ready_timeout))
    }

    /// The same for one dial at most.
    pub(super) fn ticket_for_one_dial(&self) -> Ticket {
        let ready_timeout = self.ready_timeout_with_a_dial();
        self.tell(|machine| machine.ticket_for_one_dial(Instant::now(), ready_timeout))
    }

    fn ready_timeout_with_a_dial(&self) -> Duration {
        let moment = Duration::from_millis(10);
        let dial = self.settings.dial_timeout().saturating_add(moment);
        self.settings.ready_timeout.max(dial)
    }

    /// Waits for a connection, and makes sure that there is a dial.
    pub(super) async fn wait(self: Arc<Self>, ticket: Ticket) -> Result<(C, Generation), Failure> {
        // Subscribed before the first look, so that no change is missed.
        let mut states = self.subscribe();
        let _waiting = Waiting::new(&self);
        let found = async {
            loop {
                match self.tell(|machine| machine.look(&ticket, Instant::now())) {
                    Look::Use(made, generation) => return Ok((made.connection, generation)),
                    Look::Fail(failure) => return Err(failure),
                    Look::Wait => {}
                    Look::Dial(id) => dialing::spawn(&self, id),
                }
                if states.changed().await.is_err() {
                    return Err(Failure::cancelled("the connection was dropped"));
                }
            }
        };
        time::timeout_at(ticket.until, found)
            .await
            .unwrap_or_else(|_| Err(self.tell(|machine| machine.too_late(&ticket))))
    }

    /// Waits until a connection is retired. Returns whether that was in time.
    pub(super) async fn retired(self: Arc<Self>, generation: Generation, until: Instant) -> bool {
        let mut states = self.subscribe();
        let retired =
            async { while !self.is_retired(generation) && states.changed().await.is_ok() {} };
        time::timeout_at(until, retired).await.is_ok()
    }
}

/// Counts a waiting caller in the machine until it is dropped.
struct Waiting<'a, C: Clone + Send + 'static>(&'a Shared<C>);

impl<'a, C: Clone + Send + 'static> Waiting<'a, C> {
    fn new(shared: &'a Shared<C>) -> Self {
        shared.tell(Machine::join);
        Self(shared)
    }
}

impl<C: Clone + Send + 'static> Drop for Waiting<'_, C> {
    fn drop(&mut self) {
        self.0.tell(Machine::leave);
    }
}
