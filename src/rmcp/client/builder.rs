use super::{
    Catalog, Client, Connection, Connector,
    client::{Limits, Parts},
    kept::OnConnect,
    keys::Keys,
    settings::Shared,
};
use crate::{
    call::Hints,
    failure::{BoxError, Failure},
    preset::ResilienceLayer,
    reconnect::ReconnectLayer,
};
use ::rmcp::{Peer, RoleClient};
use std::time::Duration;

/// How much longer a dial may take than the connector lets it.
const MOMENT: Duration = Duration::from_secs(1);

/// Settings of a [`Client`].
///
/// ```no_run
/// use mcp_resilience::{ResilienceLayer, rmcp::client::{ChildProcess, Client}};
/// use std::time::Duration;
///
/// # async fn run() -> Result<(), Box<dyn std::error::Error>> {
/// let resilience = ResilienceLayer::builder()
///     .attempt_timeout(Duration::from_secs(20))
///     .build()?;
/// let client = Client::builder(ChildProcess::new("my-server"))
///     .resilience(resilience)
///     .request_timeout(Duration::from_secs(10))
///     .connect()
///     .await?;
/// # let _ = client;
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
#[must_use = "settings do nothing until they are built"]
pub struct ClientBuilder<C> {
    connector: C,
    resilience: ResilienceLayer,
    reconnect: ReconnectLayer<()>,
    catalog: Catalog,
    limits: Limits,
    on_connect: Option<OnConnect>,
    keys: Keys,
}

impl Client {
    /// With other settings than the defaults.
    pub fn builder<C: Connector>(connector: C) -> ClientBuilder<C> {
        ClientBuilder::new(connector)
    }

    /// With the defaults of all layers, and connected.
    ///
    /// # Errors
    ///
    /// Those of [`ClientBuilder::connect`].
    pub async fn connect<C: Connector>(connector: C) -> Result<Self, Failure> {
        Self::builder(connector).connect().await
    }
}

impl<C: Connector> ClientBuilder<C> {
    pub(super) fn new(connector: C) -> Self {
        Self {
            connector,
            resilience: ResilienceLayer::new(),
            reconnect: ReconnectLayer::new(()),
            catalog: Catalog::new(),
            limits: Limits::default(),
            on_connect: None,
            keys: Keys::default(),
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

    /// Sets the hints of a tool. They replace those of the server.
    pub fn hints(self, tool: impl Into<String>, hints: Hints) -> Self {
        self.catalog.say(tool, hints);
        self
    }

    /// Gives calls of tools that may not run twice an [idempotency](crate::idempotency) key, if the server
    /// says that it honours keys. Such a call is repeated also if it may have run: the server runs it
    /// once. A key in the call's own `_meta` (see [`KEY_META`](crate::call::KEY_META)) stays; it also
    /// finds the answer after this process is gone.
    ///
    /// A limit of time of the client does not cancel such a call at the server; a caller that drops the
    /// call does.
    ///
    /// Has no effect with a retry layer that
    /// [distrusts the server](crate::retry::RetryBuilder::distrust_server).
    pub fn idempotency_keys(mut self) -> Self {
        self.keys = Keys::IfHonoured;
        self
    }

    /// The same, whatever the server says of itself: **only for a server that is known to run each key
    /// once**. With another one a call may run twice.
    pub fn always_idempotency_keys(mut self) -> Self {
        self.keys = Keys::Always;
        self
    }

    /// The longest that a request takes which is no call: a list with all its pages, a completion, a
    /// subscription, a ping. 30 s by default. The wait for a connection comes on top.
    pub fn request_timeout(mut self, limit: Duration) -> Self {
        self.limits.request = limit;
        self
    }

    /// Runs on each new connection before calls do, the first included: for what a server forgets with a
    /// connection. Subscriptions and the log level are told again by themselves, before this.
    ///
    /// It has what is left of the connector's start timeout. If it fails, panics or takes longer, that is
    /// logged, and the connection stands.
    pub fn on_connect<F, Fut, E>(mut self, run: F) -> Self
    where
        F: Fn(Peer<RoleClient>) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<(), E>> + Send + 'static,
        E: Into<BoxError>,
    {
        self.on_connect = Some(OnConnect::new(run));
        self
    }

    /// How long [`Client::close`] waits for calls that still run. 10 s by default.
    pub fn close_timeout(mut self, limit: Duration) -> Self {
        self.limits.close = limit;
        self
    }

    /// The client, with a connection, so that a server that cannot be reached shows now.
    ///
    /// A server that does not list its tools can be called all the same: [`Client::tools`] gives the
    /// failure then, and the list is asked for again in the background. If the server asks to wait,
    /// and the wait fits into the start timeout, it is waited out here.
    ///
    /// # Errors
    ///
    /// [`Fatal`](crate::Class::Fatal), with the connector's failure as its source, when the first
    /// dial fails. With [`retry_first_dial`](crate::reconnect::ReconnectBuilder::retry_first_dial),
    /// the failure of the last dial, once it was [waited
    /// for](crate::reconnect#how-long-a-call-waits) in vain.
    pub async fn connect(self) -> Result<Client, Failure> {
        let client = self.build();
        client.handle().connect().await?;
        Ok(client)
    }

    /// The client, which connects at the first call. That one knows nothing of the tools yet, and
    /// is not repeated unless [`hints`](Self::hints) say so.
    pub fn build(self) -> Client {
        let shared = Shared::new(self.catalog).with_policies(self.resilience.policies());
        if let Some(run) = self.on_connect {
            shared.kept.set_on_connect(run);
        }
        // The connector knows better what was wrong with a dial that took too long.
        let limit = self.connector.start_timeout().saturating_add(MOMENT);
        let reconnect = self
            .reconnect
            .with_dial_timeout_of(limit)
            .with_probe(|connection: Connection| async move { connection.ping().await });
        let connector = self.connector.share(shared.clone());
        let (stack, handle) = self.resilience.connect(&reconnect, connector);
        Client::new(Parts {
            stack,
            handle,
            shared,
            limits: self.limits,
            keys: self.keys,
        })
    }
}
