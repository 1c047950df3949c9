use super::{Reconnect, ReconnectBuilder, dial::Dial, settings::Settings};
use crate::failure::{BoxError, Failure};
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
    /// Connects to `target`, which the connector gets at every dial, with the
    /// [defaults](super#defaults).
    #[must_use]
    pub fn new(target: T) -> Self {
        Self {
            target,
            settings: Settings::default(),
        }
    }

    /// Connects to `target` with other settings.
    pub fn builder(target: T) -> ReconnectBuilder<T> {
        ReconnectBuilder::new(target)
    }

    pub(super) fn with_settings(target: T, settings: Settings) -> Self {
        Self { target, settings }
    }

    /// The same, with another dial timeout unless one was set.
    #[cfg(feature = "rmcp-client")]
    pub(crate) fn with_dial_timeout_of(mut self, limit: Duration) -> Self {
        self.settings.dial_timeout.get_or_insert(limit);
        self
    }

    /// Wraps a connector, and each connection that it makes, and names each error that it makes
    /// instead. No call waits for a connection for longer than half of a deadline.
    pub(crate) fn connect<M, C>(
        &self,
        deadline: Option<Duration>,
        connector: M,
        wrap: impl Fn(M::Response) -> C + Send + Sync + 'static,
        name: impl Fn(BoxError) -> Failure + Send + Sync + 'static,
    ) -> Reconnect<C>
    where
        M: Service<T> + Clone + Send + 'static,
        M::Error: Into<BoxError>,
        M::Future: Send,
        T: Clone + Send + 'static,
        C: Clone + Send + 'static,
    {
        let dial = Dial::new(connector, self.target.clone(), wrap, name);
        let mut settings = self.settings.clone();
        if let Some(deadline) = deadline {
            settings.patience = settings.patience.min(deadline / 2);
        }
        Reconnect::new(dial, settings)
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
        self.connect(None, connector, |connection| connection, Failure::from)
    }
}
