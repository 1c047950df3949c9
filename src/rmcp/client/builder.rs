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

/// How much longer than the connector's limit a dial may take.
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
    /// A client with other settings.
    pub fn builder<C: Connector>(connector: C) -> ClientBuilder<C> {
        ClientBuilder::new(connector)
    }

    /// A client with the defaults of all layers, connected.
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

    /// Sets the hints of a tool. They replace those of the server.
    pub fn hints(self, tool: impl Into<String>, hints: Hints) -> Self {
        self.catalog.set_hints(tool, hints);
        self
    }

    /// Gives calls of tools that may not run twice an [idempotency](crate::idempotency) key, if the
    /// server says that it honours keys. Such a call is repeated even if it may have run, since the
    /// server runs it once. A key in the call's own `_meta` (see [`KEY_META`](crate::call::KEY_META))
    /// is kept. It finds the answer also after this process has ended.
    ///
    /// A limit of time does not cancel such a call at the server. A caller that drops the call does. At
    /// most 256 attempts that ran into a limit stay open, each for 1 h at most, and none after
    /// [`close`](Client::close). Beyond that the oldest is cancelled at the server, with a warning.
    ///
    /// Has no effect with a retry layer that [distrusts the
    /// server](crate::retry::RetryBuilder::distrust_server).
    pub fn idempotency_keys(mut self) -> Self {
        self.keys = Keys::IfHonoured;
        self
    }

    /// The same, even if the server does not announce it. **Only for a server that is known to run
    /// each key once**: with another one, a call may run twice.
    ///
    /// If the server asks for input, each later round of a call has a key of its own, which follows from
    /// that of the call. A server that is not built with this crate knows no rounds: under one key, it could
    /// answer the second with the question of the first.
    pub fn always_idempotency_keys(mut self) -> Self {
        self.keys = Keys::Always;
        self
    }

    /// The longest that a request other than a call may take: a list with all its pages, a
    /// completion, a subscription, a ping. The wait for a connection is not included. Default: 30 s.
    pub fn request_timeout(mut self, limit: Duration) -> Self {
        self.limits.request = limit;
        self
    }

    /// Runs on each new connection before calls do, the first included. For state that a server loses
    /// with a connection. Subscriptions and the log level are restored before this.
    ///
    /// It has the rest of the connector's start timeout, or of the dial timeout if that is shorter. No
    /// request to restore something takes more than half of what is left before it. If the hook fails,
    /// panics or takes longer, that is logged, and the connection is used.
    pub fn on_connect<F, Fut, E>(mut self, run: F) -> Self
    where
        F: Fn(Peer<RoleClient>) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<(), E>> + Send + 'static,
        E: Into<BoxError>,
    {
        self.on_connect = Some(OnConnect::new(run));
        self
    }

    /// How long [`Client::close`] waits for running calls. Default: 10 s.
    pub fn close_timeout(mut self, limit: Duration) -> Self {
        self.limits.close = limit;
        self
    }

    /// Builds the client and connects it, so that an unreachable server is an error here.
    ///
    /// A server that does not list its tools can still be called: [`Client::tools`] returns the
    /// failure then, and the list is read again in the background. If the server asks to wait, and
    /// the wait fits into the start timeout, this waits for it.
    ///
    /// # Errors
    ///
    /// [`Fatal`](crate::Class::Fatal), with the connector's failure as its source, if the first dial
    /// fails. With [`retry_first_dial`](crate::reconnect::ReconnectBuilder::retry_first_dial), the
    /// failure of the last dial at the end of the [ready timeout](crate::reconnect#how-long-a-call-waits).
    pub async fn connect(self) -> Result<Client, Failure> {
        let client = self.build();
        client.handle().connect().await?;
        Ok(client)
    }

    /// Builds the client, which connects at the first call. The first call has no hints from the
    /// server, so it is not repeated unless [`hints`](Self::hints) permit it.
    pub fn build(self) -> Client {
        // The connector can say better what was wrong with a slow dial.
        let limit = self.connector.start_timeout().saturating_add(MOMENT);
        let reconnect = self
            .reconnect
            .with_dial_timeout_of(limit)
            .with_probe(|connection: Connection| async move { connection.probe().await });
        let ready_timeout = self.resilience.ready_timeout_of_a_call(&reconnect);
        let shared = Shared {
            // The least that a call waits for readiness after a dial; a longer opening would fail that call.
            longest_opening: ready_timeout / 2,
            dial_timeout: reconnect.dial_timeout(),
            ..Shared::new(self.catalog).with_policies(self.resilience.policies())
        };
        if let Some(run) = self.on_connect {
            shared.kept.set_on_connect(run);
        }
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
