use super::{outcome, shared::Shared};
use crate::failure::{BoxError, Class, Delivery, Failure};
use std::{fmt, sync::Arc};

/// Watches a connection, and may end it.
///
/// A handle does not keep the connection: that ends with the last clone of the service.
pub struct ReconnectHandle<C> {
    pub(super) shared: Arc<Shared<C>>,
}

impl<C: Clone + Send + 'static> ReconnectHandle<C> {
    /// Connects now, if there is no connection, and waits for it, for one dial at least: for a start
    /// that is to fail early.
    ///
    /// # Errors
    ///
    /// What a call would get: [`Fatal`](crate::Class::Fatal) when the first dial fails.
    pub async fn connect(&self) -> Result<(), Failure> {
        let until = self.shared.patience_for_a_dial();
        Arc::clone(&self.shared).wait(until).await.map(drop)
    }

    /// Makes a request on the current connection, and waits for one if there is none.
    ///
    /// For requests that do not go through the service, such as the lists and completions of an MCP
    /// client. `request` gets a clone of the connection. Its outcome counts like that of a call: a
    /// lost connection is replaced, an answer shows that the connection works. The request is made
    /// once more, on a new connection, if it failed without being sent, or if the server no longer
    /// knows the session. Nothing else is repeated.
    ///
    /// Readiness of the connection is up to `request`.
    ///
    /// # Errors
    ///
    /// The failure of the request, or of the wait for a connection.
    pub async fn with<F, Fut, T, E>(&self, mut request: F) -> Result<T, Failure>
    where
        F: FnMut(C) -> Fut,
        Fut: Future<Output = Result<T, E>>,
        E: Into<BoxError>,
    {
        let mut is_first = true;
        loop {
            let until = self.shared.patience();
            let (connection, lease) = Arc::clone(&self.shared).wait(until).await?;
            let mut outcome = request(connection).await.map_err(Failure::from_any);
            outcome::observe(&self.shared, &lease, outcome.as_mut().map(drop));
            match outcome {
                Err(failure) if is_first && may_go_again(&failure) => is_first = false,
                outcome => return outcome,
            }
        }
    }

    /// Ends it for good and at once: a dial in progress, every call that waits for a connection,
    /// and the connection, once the calls that run on it are done.
    pub fn shutdown(&self) {
        self.shared.close();
    }

    /// The connection of now, for what is no call.
    #[must_use]
    pub fn connection(&self) -> Option<C> {
        self.shared.connection().map(|(connection, _)| connection)
    }

    /// How many connections there have been.
    #[must_use]
    pub fn generation(&self) -> u64 {
        self.shared.generation()
    }

    /// Whether there is a connection now, as far as anybody noticed.
    #[must_use]
    pub fn is_connected(&self) -> bool {
        self.shared.is_connected()
    }
}

/// Whether a request that failed so is made once more on a new connection.
fn may_go_again(failure: &Failure) -> bool {
    let was_not_sent = failure.delivery() == Delivery::NotSent;
    let lost_its_session =
        failure.class() == Class::SessionLost && failure.delivery().did_not_run();
    outcome::is_lost(failure) && (was_not_sent || lost_its_session)
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
