use super::{NoProbe, Probe, Reconnect, ReconnectBuilder, dial::Dial, settings::Settings};
use crate::{
    failure::{BoxError, Failure},
    observe::Observers,
};
use std::time::Duration;
use tower::{Layer, Service};

/// Wraps connectors in [`Reconnect`].
///
/// See the [module page](super) for what happens when, and the defaults.
///
/// ```
/// use mcp_resilience::{Failure, reconnect::ReconnectLayer};
/// use tower::{Layer, service_fn};
///
/// // A connector: a service that makes connections, which are services.
/// let connector = service_fn(async |(): ()| {
///     Ok::<_, Failure>(service_fn(async |call: &'static str| Ok::<_, Failure>(call)))
/// });
/// let tools = ReconnectLayer::new(()).layer(connector);
/// let handle = tools.handle(); // watches the connection, and ends it
/// # let _ = (tools, handle);
/// ```
#[derive(Clone, Debug)]
pub struct ReconnectLayer<T, P = NoProbe> {
    target: T,
    probe: P,
    settings: Settings,
}

impl<T> ReconnectLayer<T> {
    /// Connects to `target`, which the connector gets at each dial, with the
    /// [defaults](super#defaults).
    #[must_use]
    pub fn new(target: T) -> Self {
        Self {
            target,
            probe: NoProbe,
            settings: Settings::default(),
        }
    }

    /// Connects to `target` with other settings.
    pub fn builder(target: T) -> ReconnectBuilder<T> {
        ReconnectBuilder::new(target)
    }
}

impl<T, P> ReconnectLayer<T, P> {
    pub(super) fn with_settings(target: T, probe: P, settings: Settings) -> Self {
        Self {
            target,
            probe,
            settings,
        }
    }

    /// The same layer with another probe.
    #[cfg(any(feature = "rmcp-client", feature = "tower-mcp"))]
    pub(crate) fn with_probe<Q>(self, probe: Q) -> ReconnectLayer<T, Q> {
        ReconnectLayer::with_settings(self.target, probe, self.settings)
    }

    /// The same layer with another dial timeout, unless one was set.
    #[cfg(any(feature = "rmcp-client", feature = "tower-mcp"))]
    pub(crate) fn with_dial_timeout_of(mut self, limit: Duration) -> Self {
        self.settings.dial_timeout.get_or_insert(limit);
        self
    }

    #[cfg(feature = "rmcp-client")]
    pub(crate) fn dial_timeout(&self) -> Duration {
        self.settings.dial_timeout()
    }

    /// The ready timeout of a call with this deadline.
    #[cfg(feature = "rmcp-client")]
    pub(crate) fn ready_timeout_of_a_call(&self, deadline: Option<Duration>) -> Duration {
        let longest = longest_wait(deadline).unwrap_or(Duration::MAX);
        self.settings.ready_timeout.min(longest)
    }

    /// Wraps a connector. `wrap` changes each connection, and `name` each error. A call waits for a
    /// connection for at most half of the window. The observers are used if the layer has none of its
    /// own.
    pub(crate) fn connect<M, C>(
        &self,
        deadline: Option<Duration>,
        observers: &Observers,
        connector: M,
        wrap: impl Fn(M::Response) -> C + Send + Sync + 'static,
        name: impl Fn(BoxError) -> Failure + Send + Sync + 'static,
    ) -> Reconnect<C>
    where
        M: Service<T> + Clone + Send + 'static,
        M::Error: Into<BoxError>,
        M::Future: Send,
        T: Clone + Send + 'static,
        P: Probe<M::Response>,
        C: Clone + Send + 'static,
    {
        let dial = Dial::new(
            connector,
            self.target.clone(),
            self.probe.clone(),
            wrap,
            name,
        );
        let mut settings = self.settings.clone();
        settings.longest_wait_of_a_call = longest_wait(deadline);
        settings.observers = settings.observers.or(observers);
        Reconnect::with(dial, settings)
    }
}

/// A call waits for at most half of its time, so that its failure says why there is no connection.
fn longest_wait(deadline: Option<Duration>) -> Option<Duration> {
    deadline.map(|deadline| deadline / 2)
}

impl<M, T, P> Layer<M> for ReconnectLayer<T, P>
where
    M: Service<T> + Clone + Send + 'static,
    M::Response: Clone + Send + 'static,
    M::Error: Into<BoxError>,
    M::Future: Send,
    T: Clone + Send + 'static,
    P: Probe<M::Response>,
{
    type Service = Reconnect<M::Response>;

    fn layer(&self, connector: M) -> Self::Service {
        let observers = Observers::default();
        self.connect(
            None,
            &observers,
            connector,
            |connection| connection,
            Failure::from,
        )
    }
}
