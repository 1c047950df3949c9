use super::{Client, Connection, Connector, connection::Census};
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

    /// The layers around the connections, instead of the preset's defaults.
    pub fn resilience(mut self, layer: ResilienceLayer) -> Self {
        self.resilience = layer;
        self
    }

    /// How connections are made again, instead of the [defaults](crate::reconnect#defaults). The dial
    /// timeout, unless it is set, is a second more than the connector's own. Connections are probed by
    /// MCP's `ping`.
    pub fn reconnect(mut self, layer: ReconnectLayer<()>) -> Self {
        self.reconnect = layer;
        self
    }

    /// The client, with a connection, so that a server that cannot be reached shows now.
    ///
    /// # Errors
    ///
    /// [`Fatal`](crate::Class::Fatal), with the connector's failure as its source, when the first dial
    /// fails; see [`retry_first_dial`](crate::reconnect::ReconnectBuilder::retry_first_dial).
    pub async fn connect(self) -> Result<Client, Failure> {
        let client = self.build();
        client.handle().connect().await?;
        Ok(client)
    }

    /// The client, which connects at the first call. That one knows nothing of the tools yet.
    pub fn build(self) -> Client {
        // The connector knows better what was wrong with a dial that took too long.
        let limit = self.connector.limit().saturating_add(MOMENT);
        let reconnect = self
            .reconnect
            .with_dial_timeout_of(limit)
            .with_probe(|connection: Connection| async move { connection.ping().await });
        // Two clients share nothing.
        let mut connector = self.connector;
        connector.learned = Learned::default();
        connector.census = Census::default();
        let (learned, census) = (connector.learned.clone(), connector.census.clone());
        let (stack, handle) = self.resilience.connect(&reconnect, connector);
        Client::new(stack, handle, learned, census)
    }
}
