use super::{Reconnect, ReconnectBuilder, dial::Dial, settings::Settings};
use crate::failure::{BoxError, Failure};
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

    /// Wraps a connector, and each connection that it makes, and names each error that it makes
    /// instead.
    pub(crate) fn connect<M, C>(
        &self,
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
        self.connect(connector, |connection| connection, Failure::from)
    }
}
