use super::{Reconnect, dial::Dial, settings::Settings};
use crate::{
    backoff::{Backoff, Jitter},
    failure::BoxError,
};
use std::time::Duration;
use tower::{Layer, Service};

/// Wraps connectors in [`Reconnect`].
///
/// See the [module page](super) for what happens when, the defaults and an example.
#[derive(Clone, Debug)]
pub struct ReconnectLayer<T> {
    target: T,
    settings: Settings,
}

impl<T> ReconnectLayer<T> {
    /// Connects to `target`, which the connector gets at every dial.
    #[must_use]
    pub fn new(target: T) -> Self {
        Self {
            target,
            settings: Settings::default(),
        }
    }

    /// The longest that one dial may take.
    #[must_use]
    pub fn dial_timeout(mut self, limit: Duration) -> Self {
        self.settings.dial_timeout = limit;
        self
    }

    /// The longest that a call waits for a connection, over any number of dials.
    #[must_use]
    pub fn patience(mut self, limit: Duration) -> Self {
        self.settings.patience = limit;
        self
    }

    /// The ceilings of the waits between dials that did not last.
    #[must_use]
    pub fn backoff(mut self, backoff: Backoff) -> Self {
        self.settings.backoff = backoff;
        self
    }

    /// How those waits are drawn.
    #[must_use]
    pub fn jitter(mut self, jitter: Jitter) -> Self {
        self.settings.jitter = jitter;
        self
    }

    /// How long a connection has to last to be good, if no call was answered on it.
    #[must_use]
    pub fn good_after(mut self, lasted: Duration) -> Self {
        self.settings.good_after = lasted;
        self
    }

    /// Goes on dialling when the very first dial fails, for a server that may start later than
    /// its client.
    #[must_use]
    pub fn retry_first_dial(mut self) -> Self {
        self.settings.first_dial_is_fatal = false;
        self
    }

    /// Wraps a connector, and each connection that it makes.
    pub(crate) fn connect<M, C>(
        &self,
        connector: M,
        wrap: impl Fn(M::Response) -> C + Send + Sync + 'static,
    ) -> Reconnect<C>
    where
        M: Service<T> + Clone + Send + 'static,
        M::Error: Into<BoxError>,
        M::Future: Send,
        T: Clone + Send + 'static,
        C: Clone + Send + 'static,
    {
        let dial = Dial::new(connector, self.target.clone(), wrap);
        Reconnect::new(dial, self.settings.clone())
    }
}

impl<M, T> Layer<M> for ReconnectLayer<T>
where
    M: Service<T> + Clone + Send + 'static,
    M::Response: Clone + Send + 'static,
    M::Error: Into<BoxError>,
    M::Future: Send,
    T: Clone + Send + 'static,
{
    type Service = Reconnect<M::Response>;

    fn layer(&self, connector: M) -> Self::Service {
        self.connect(connector, |connection| connection)
    }
}
