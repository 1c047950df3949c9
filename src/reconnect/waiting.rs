//! Calls that wait for a connection.

use super::{
    dialing,
    machine::{Generation, Look, Machine, Ticket},
    shared::Shared,
};
use crate::{failure::Failure, window::BeginBy};
use std::{
    pin::Pin,
    sync::Arc,
    task::{Context, Poll, ready},
    time::Duration,
};
use tokio::time::{self, Instant};

/// A clone of a connection, and its number.
pub(super) type Leased<C> = (C, Generation);

/// The waits of one call: for a connection, or for one that is not ready. Its ticket limits them.
pub(super) struct Wait<C> {
    ticket: Ticket,
    until: Until<C>,
}

enum Until<C> {
    Over,
    Connected(BoxFuture<Result<Leased<C>, Failure>>),
    /// Returns whether the connection was retired in time.
    Retired(BoxFuture<bool>),
}

type BoxFuture<T> = Pin<Box<dyn Future<Output = T> + Send>>;

impl<C: Clone + Send + 'static> Wait<C> {
    /// The wait of a new call.
    #[cold]
    pub(super) fn of_new_call(shared: &Shared<C>, begin_by: Option<&BeginBy>) -> Self {
        Self::with(shared.ticket(), begin_by)
    }

    /// The wait of a call that had a connection when it began.
    pub(super) fn again(shared: &Shared<C>, begin_by: Option<&BeginBy>) -> Self {
        Self::with(shared.patient_ticket(), begin_by)
    }

    fn with(ticket: Ticket, begin_by: Option<&BeginBy>) -> Self {
        Self {
            ticket: ticket.until(begin_by.and_then(BeginBy::at)),
            until: Until::Over,
        }
    }

    /// Waits for a connection.
    pub(super) fn poll_connected(
        &mut self,
        shared: &Arc<Shared<C>>,
        cx: &mut Context<'_>,
    ) -> Poll<Result<Leased<C>, Failure>> {
        let connected = loop {
            match &mut self.until {
                Until::Connected(connected) => break ready!(connected.as_mut().poll(cx)),
                until => {
                    let connected = Arc::clone(shared).wait(self.ticket);
                    *until = Until::Connected(Box::pin(connected));
                }
            }
        };
        self.until = Until::Over;
        Poll::Ready(connected)
    }

    /// Waits until this connection is retired. Returns whether that was in time.
    pub(super) fn poll_retired(
        &mut self,
        shared: &Arc<Shared<C>>,
        generation: Generation,
        begin_by: Option<&BeginBy>,
        cx: &mut Context<'_>,
    ) -> Poll<bool> {
        loop {
            match &mut self.until {
                Until::Retired(retired) => return retired.as_mut().poll(cx),
                until => {
                    let ticket = self.ticket.for_readiness(Instant::now());
                    let ticket = ticket.until(begin_by.and_then(BeginBy::at));
                    let retired = Arc::clone(shared).retired(generation, ticket.until);
                    *until = Until::Retired(Box::pin(retired));
                }
            }
        }
    }
}

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
    pub(super) async fn wait(self: Arc<Self>, ticket: Ticket) -> Result<Leased<C>, Failure> {
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
