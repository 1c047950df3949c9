use super::{
    machine::{Generation, Ticket},
    outcome,
    shared::Shared,
    status::{ConnectionState, StateChanges},
    waiting::Leased,
};
use crate::failure::{BoxError, Failure};
use std::{fmt, future, sync::Arc, thread};
use tokio::time::Instant;

/// Watches a connection, makes requests on it, and can renew or end it.
///
/// A handle does not keep the connection alive. The connection ends with the last clone of the
/// service.
///
/// ```
/// use mcp_resilience::{Failure, reconnect::{ConnectionState, ReconnectLayer}};
/// use tower::{Layer, service_fn};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Failure> {
/// let connector = service_fn(async |(): ()| {
///     Ok::<_, Failure>(service_fn(async |call: &'static str| Ok::<_, Failure>(call)))
/// });
/// let tools = ReconnectLayer::new(()).layer(connector);
/// let handle = tools.handle();
/// handle.connect().await?; // fails at startup if the server is not there
/// assert!(handle.is_connected());
/// handle.shutdown();
/// assert!(matches!(handle.state(), ConnectionState::Closed));
/// # Ok(())
/// # }
/// ```
pub struct ReconnectHandle<C> {
    pub(super) shared: Arc<Shared<C>>,
}

impl<C: Clone + Send + 'static> ReconnectHandle<C> {
    /// Connects if there is no connection, and waits for the end of at least one dial. Use it to
    /// find a wrong configuration at startup.
    ///
    /// # Errors
    ///
    /// The failure that a call would get: [`Fatal`](crate::Class::Fatal) if the first dial fails. If
    /// a tool passes that failure on, it becomes [`Disabled`](crate::Class::Disabled), and the stack
    /// around the tool stays open.
    pub async fn connect(&self) -> Result<(), Failure> {
        let ticket = self.shared.ticket_for_a_dial();
        self.wait(ticket).await
    }

    /// Retires the connection, dials at once without a backoff, and waits for the end of that dial.
    /// Calls that run on the old connection finish there.
    ///
    /// If a dial is in progress, waits for its end instead. Also ends the state
    /// [`Down`](ConnectionState::Down). Dropping the future does not stop a dial.
    ///
    /// # Errors
    ///
    /// The failure of the dial; `Cancelled` after [`shutdown`](Self::shutdown).
    pub async fn reconnect(&self) -> Result<(), Failure> {
        self.shared.renew();
        let ticket = self.shared.ticket_for_one_dial();
        self.wait(ticket).await
    }

    async fn wait(&self, ticket: Ticket) -> Result<(), Failure> {
        let connection = Arc::clone(&self.shared).wait(ticket).await;
        connection.map(drop).map_err(Failure::handed_out)
    }

    /// Clears the backoff, the last failure and the state [`Down`](ConnectionState::Down): the next
    /// call dials at once, and so do calls that wait now. A connection stays. Does nothing after
    /// [`shutdown`](Self::shutdown).
    pub fn reset(&self) {
        self.shared.reset();
    }

    /// Makes a request on the current connection, and waits for one if there is none.
    ///
    /// For requests that do not go through the service, such as the lists and completions of an MCP
    /// client. `request` gets a clone of the connection, and has to wait for its readiness.
    ///
    /// Its outcome counts like that of a call. A lost connection is replaced, an answer shows that
    /// the connection works, and a dropped request counts as given up. Nothing is repeated, because
    /// `request` may make several requests, and the first may have had its effect.
    ///
    /// # Errors
    ///
    /// The failure of the request, or of the wait for a connection. If a tool passes it on, it does
    /// not say whether the tool ran.
    pub async fn with<F, Fut, T, E>(&self, request: F) -> Result<T, Failure>
    where
        F: FnOnce(C) -> Fut,
        Fut: Future<Output = Result<T, E>>,
        E: Into<BoxError>,
    {
        let outcome = self.once(|_| future::ready(()), request).await;
        outcome.map_err(Failure::handed_out)
    }

    /// Like [`with`](Self::with), after `ready`, which waits for the readiness of the connection. If
    /// the connection is lost meanwhile, the request is made on the next. A request that is dropped
    /// before it was made does not count as given up.
    #[cfg_attr(
        not(feature = "rmcp-client"),
        allow(dead_code, reason = "a client makes such requests")
    )]
    pub(crate) async fn with_ready<R, F, Ready, Fut, T, E>(
        &self,
        ready: R,
        request: F,
    ) -> Result<T, Failure>
    where
        R: Fn(C) -> Ready,
        F: FnOnce(C) -> Fut,
        Ready: Future<Output = ()>,
        Fut: Future<Output = Result<T, E>>,
        E: Into<BoxError>,
    {
        let outcome = self.once(ready, request).await;
        outcome.map_err(Failure::handed_out)
    }

    /// Like [`with_ready`](Self::with_ready), for a single request. If it was not sent, or the server
    /// no longer knows the session, it is made once more on a new connection.
    #[cfg_attr(
        not(feature = "rmcp-client"),
        allow(dead_code, reason = "a client makes such requests")
    )]
    pub(crate) async fn with_one<R, F, Ready, Fut, T, E>(
        &self,
        ready: R,
        mut request: F,
    ) -> Result<T, Failure>
    where
        R: Fn(C) -> Ready,
        F: FnMut(C) -> Fut,
        Ready: Future<Output = ()>,
        Fut: Future<Output = Result<T, E>>,
        E: Into<BoxError>,
    {
        // A failed wait is not repeated: it was as long as a request may wait.
        let connection = self.connected(&ready).await.map_err(Failure::handed_out)?;
        let outcome = match self.send(connection, &mut request).await {
            Err(failure) if outcome::may_go_again(&failure) => self.once(ready, request).await,
            outcome => outcome,
        };
        outcome.map_err(Failure::handed_out)
    }

    async fn once<R, F, Ready, Fut, T, E>(&self, ready: R, request: F) -> Result<T, Failure>
    where
        R: Fn(C) -> Ready,
        F: FnOnce(C) -> Fut,
        Ready: Future<Output = ()>,
        Fut: Future<Output = Result<T, E>>,
        E: Into<BoxError>,
    {
        let connection = self.connected(ready).await?;
        self.send(connection, request).await
    }

    /// Waits for a connection that is ready.
    async fn connected<R, Ready>(&self, ready: R) -> Result<Leased<C>, Failure>
    where
        R: Fn(C) -> Ready,
        Ready: Future<Output = ()>,
    {
        let mut found = self.shared.connection();
        // One for all connections that are lost before the request is made.
        let ticket = match found {
            Some(_) => self.shared.patient_ticket(),
            None => self.shared.ticket(),
        };
        loop {
            let (connection, generation) = match found.take() {
                Some(found) => found,
                None => Arc::clone(&self.shared).wait(ticket).await?,
            };
            ready(connection.clone()).await;
            if !self.shared.is_retired(generation) {
                return Ok((connection, generation));
            }
            // Other callers may dial all the time.
            if ticket.until <= Instant::now() {
                return Err(self.shared.tell(|machine| machine.too_late(&ticket)));
            }
        }
    }

    async fn send<F, Fut, T, E>(
        &self,
        (connection, generation): Leased<C>,
        request: F,
    ) -> Result<T, Failure>
    where
        F: FnOnce(C) -> Fut,
        Fut: Future<Output = Result<T, E>>,
        E: Into<BoxError>,
    {
        // From here on: before, nothing is sent.
        let mut sent = Sent {
            shared: &self.shared,
            generation: Some(generation),
        };
        let mut outcome = request(connection).await.map_err(Failure::from_any);
        sent.generation = None;
        self.shared
            .observe(generation, outcome.as_mut().map(|_| ()));
        outcome
    }

    /// Shuts down for good. Ends a dial in progress and every waiting call at once, and the
    /// connection after its running calls.
    pub fn shutdown(&self) {
        self.shared.close();
    }

    /// The current connection, without the layers, for requests other than calls.
    #[must_use]
    pub fn connection(&self) -> Option<C> {
        self.shared.connection().map(|(connection, _)| connection)
    }

    /// How many connections there have been.
    #[must_use]
    pub fn generation(&self) -> u64 {
        self.shared.generation()
    }

    /// Whether there is a connection whose loss no call or probe has noticed.
    #[must_use]
    pub fn is_connected(&self) -> bool {
        self.state().is_connected()
    }

    /// The current state of the connection.
    #[must_use]
    pub fn state(&self) -> ConnectionState {
        self.shared.state()
    }

    /// Watches the state of the connection from now on.
    #[must_use]
    pub fn changes(&self) -> StateChanges {
        self.shared.changes()
    }
}

/// A request that was sent and has no outcome yet.
struct Sent<'a, C: Clone + Send + 'static> {
    shared: &'a Arc<Shared<C>>,
    generation: Option<Generation>,
}

impl<C: Clone + Send + 'static> Drop for Sent<'_, C> {
    fn drop(&mut self) {
        match self.generation {
            // A panic says nothing about the connection.
            Some(generation) if !thread::panicking() => self.shared.given_up(generation),
            _ => {}
        }
    }
}

impl<C> Clone for ReconnectHandle<C> {
    fn clone(&self) -> Self {
        Self {
            shared: Arc::clone(&self.shared),
        }
    }
}

impl<C> fmt::Debug for ReconnectHandle<C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ReconnectHandle").finish_non_exhaustive()
    }
}
