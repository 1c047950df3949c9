use super::{Connection, connection::InFlight, errors, traffic::Traffic, watched::Watched};
use crate::{failure::Failure, serve::Learned, tower_mcp::model::said_of};
use ::tower_mcp::{
    Error, McpClient,
    client::{ClientHandler, ClientTransport, McpClientBuilder},
};
use std::{
    fmt,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
    time::Duration,
};
use tokio::time::timeout;
use tower::Service;

/// How long a dial may take, by default.
const START: Duration = Duration::from_secs(30);

/// Makes connections to one server, with a new transport, client and handshake at each dial.
///
/// It is a service of tower, for [`Reconnect`](crate::reconnect); [`Client`](super::Client) puts the
/// whole stack around it. Its errors are from before any call. Dropping its future ends the dial, and
/// kills a child process.
///
/// ```
/// use mcp_resilience::tower_mcp::client::Connector;
/// use std::time::Duration;
/// use tower_mcp::{McpClient, client::StdioClientTransport};
///
/// let connector = Connector::new(|| StdioClientTransport::spawn("bookshop", &["--grace", "2"]))
///     .start_timeout(Duration::from_secs(10))
///     .client(|| McpClient::builder().with_sampling());
/// # let _ = connector;
/// ```
#[must_use = "a connector does nothing until a client gets it"]
pub struct Connector<F, H = ()> {
    transport: F,
    handler: H,
    client: Arc<dyn Fn() -> McpClientBuilder + Send + Sync>,
    identity: (Arc<str>, Arc<str>),
    start_timeout: Duration,
    pub(super) learned: Learned,
    pub(super) in_flight: InFlight,
}

impl<F> Connector<F> {
    /// Connects over transports that the function makes. It is called at each dial.
    pub fn new(transport: F) -> Self {
        Self {
            transport,
            handler: (),
            client: Arc::new(McpClient::builder),
            identity: (
                Arc::from(env!("CARGO_PKG_NAME")),
                Arc::from(env!("CARGO_PKG_VERSION")),
            ),
            start_timeout: START,
            learned: Learned::default(),
            in_flight: InFlight::default(),
        }
    }
}

impl<F, H> Connector<F, H> {
    /// The handler of the server's requests and notifications.
    pub fn handler<N: ClientHandler + Clone>(self, handler: N) -> Connector<F, N> {
        Connector {
            transport: self.transport,
            handler,
            client: self.client,
            identity: self.identity,
            start_timeout: self.start_timeout,
            learned: self.learned,
            in_flight: self.in_flight,
        }
    }

    /// Sets capabilities, roots and versions of tower-mcp's client. A cache of answers is turned off,
    /// since it would answer for a server that is gone.
    pub fn client(
        mut self,
        builder: impl Fn() -> McpClientBuilder + Send + Sync + 'static,
    ) -> Self {
        self.client = Arc::new(builder);
        self
    }

    /// Sets the name and version of the client.
    pub fn identity(mut self, name: impl Into<Arc<str>>, version: impl Into<Arc<str>>) -> Self {
        self.identity = (name.into(), version.into());
        self
    }

    /// How long a dial may take, from the transport to the list of tools. Default: 30 s.
    pub fn start_timeout(mut self, limit: Duration) -> Self {
        self.start_timeout = limit;
        self
    }

    pub(super) fn limit(&self) -> Duration {
        self.start_timeout
    }
}

impl<F, H, Fut, T> Service<()> for Connector<F, H>
where
    F: Fn() -> Fut,
    Fut: Future<Output = Result<T, Error>> + Send + 'static,
    T: ClientTransport,
    H: ClientHandler + Clone,
{
    type Response = Connection;
    type Error = Failure;
    type Future = Pin<Box<dyn Future<Output = Result<Connection, Failure>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Failure>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, (): ()) -> Self::Future {
        let transport = (self.transport)();
        let builder = (self.client)().disable_response_cache();
        let (handler, identity, limit) = (
            self.handler.clone(),
            self.identity.clone(),
            self.start_timeout,
        );
        let (learned, in_flight) = (self.learned.clone(), self.in_flight.clone());
        Box::pin(async move {
            let traffic = Traffic::default();
            let dial = async {
                let transport = Watched::new(transport.await?, traffic.clone());
                let client = builder.connect(transport, handler).await?;
                client.initialize(&identity.0, &identity.1).await?;
                learn(&learned, &client).await;
                Ok(Connection::new(client, traffic.clone(), &in_flight))
            };
            match timeout(limit, dial).await {
                Ok(dialled) => dialled.map_err(|error| errors::of_request(error, true).not_sent()),
                Err(elapsed) => {
                    let message = format!(
                        "the tool server was not ready within {limit:?}; to allow more, raise `start_timeout`"
                    );
                    Err(Failure::timeout(message).because(elapsed).not_sent())
                }
            }
        })
    }
}

/// A server that does not list its tools can still be called, without hints.
async fn learn(learned: &Learned, client: &McpClient) {
    match client.list_all_tools().await {
        Ok(tools) => learned.learn(tools.iter().map(|tool| (&*tool.name, said_of(tool)))),
        Err(error) => {
            let failure = errors::of_request(error, true);
            tracing::debug!(error = %failure.chain(), "the tool server did not list its tools, their hints are unknown");
        }
    }
}

impl<F: Clone, H: Clone> Clone for Connector<F, H> {
    fn clone(&self) -> Self {
        Self {
            transport: self.transport.clone(),
            handler: self.handler.clone(),
            client: Arc::clone(&self.client),
            identity: self.identity.clone(),
            start_timeout: self.start_timeout,
            learned: self.learned.clone(),
            in_flight: self.in_flight.clone(),
        }
    }
}

impl<F, H> fmt::Debug for Connector<F, H> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Connector")
            .field("start_timeout", &self.start_timeout)
            .finish_non_exhaustive()
    }
}
