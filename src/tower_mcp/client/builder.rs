use super::{Client, Connection, Connector, connection::InFlight};
use crate::{failure::Failure, preset::ResilienceLayer, reconnect::ReconnectLayer, serve::Learned};
use ::tower_mcp::{
    Error,
    client::{ClientHandler, ClientTransport},
};
use std::time::Duration;

/// How much longer a dial may take than the connector lets it.
const MOMENT: Duration = Duration::from_secs(1);

/// Settings of a [`Client`].
#[derive(Debug)]
#[must_use = "settings do nothing until they are built"]
pub struct ClientBuilder<F, H = ()> {
    connector: Connector<F, H>,
    resilience: ResilienceLayer,
    reconnect: ReconnectLayer<()>,
}

impl<F, H, Fut, T> ClientBuilder<F, H>
where
    F: Fn() -> Fut + Clone + Send + 'static,
    Fut: Future<Output = Result<T, Error>> + Send + 'static,
    T: ClientTransport,
    H: ClientHandler + Clone,
{
    pub(super) fn new(connector: Connector<F, H>) -> Self {
        Self {
            connector,
            resilience: ResilienceLayer::new(),
            reconnect: ReconnectLayer::new(()),
        }
    }

    /// The layers around the connections. Default: the preset.
    pub fn resilience(mut self, layer: ResilienceLayer) -> Self {
        self.resilience = layer;
        self
    }

    /// How a lost connection is replaced, in place of the [defaults](crate::reconnect#defaults). If
    /// no dial timeout is set, it is a second longer than the connector's own. Connections are probed
    /// by MCP's `ping`.
    pub fn reconnect(mut self, layer: ReconnectLayer<()>) -> Self {
        self.reconnect = layer;
        self
    }

    /// Builds the client and connects it, so that an unreachable server is an error here.
    ///
    /// # Errors
    ///
    /// [`Fatal`](crate::Class::Fatal), with the connector's failure as its source, if the first dial
    /// fails; see [`retry_first_dial`](crate::reconnect::ReconnectBuilder::retry_first_dial).
    pub async fn connect(self) -> Result<Client, Failure> {
        let client = self.build();
        client.handle().connect().await?;
        Ok(client)
    }

    /// Builds the client, which connects at the first call. The first call has no hints from the
    /// server.
    pub fn build(self) -> Client {
        // The connector can say better what was wrong with a slow dial.
        let limit = self.connector.limit().saturating_add(MOMENT);
        let reconnect = self
            .reconnect
            .with_dial_timeout_of(limit)
            .with_probe(|connection: Connection| async move { connection.ping().await });
        // Two clients share nothing.
        let mut connector = self.connector;
        connector.learned = Learned::default();
        connector.in_flight = InFlight::default();
        let (learned, in_flight) = (connector.learned.clone(), connector.in_flight.clone());
        let (stack, handle) = self.resilience.connect(&reconnect, connector);
        Client::new(stack, handle, learned, in_flight)
    }
}
