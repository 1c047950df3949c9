use super::shared::Shared;
use crate::failure::Failure;
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
