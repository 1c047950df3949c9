use super::{
    Resilient, RouterService, ServerAnswer, ServerCall, incoming::Incoming, progress::Bridges,
};
use crate::{
    failure::BoxError,
    fatal::{Fatal, FatalHandle},
    idempotency::{HearsKeys, IdempotencyHandle},
    observe::Observers,
    preset::{Resilience, ResilienceLayer},
    serve::{Learned, Lifetime, Shutdown, Stop, progress::HEARTBEAT},
    timeout::Timeout,
};
use ::tower_mcp::McpRouter;
use std::{fmt, time::Duration};
use tower::{Layer, Service};

/// The preset around a router.
pub type PresetStack = Resilience<Timeout<RouterService>>;

/// Wraps routers in one stack, for the `layer` of a transport of tower-mcp.
///
/// See the [page of the adapter](crate::tower_mcp) for how each failure is answered. All services of
/// one layer, and its clones, share the stack and its state, because tower-mcp makes a service for
/// each session, or for each request.
#[derive(Clone)]
pub struct ResilientLayer<S = PresetStack> {
    pub(super) stack: S,
    pub(super) life: Lifetime,
    pub(super) learned: Learned,
    pub(super) incoming: Incoming,
    pub(super) heartbeat: Option<Duration>,
    pub(super) bridges: Bridges,
    pub(super) observers: Observers,
    /// Whether the keys in `_meta` are read: only where this layer serves by itself.
    pub(super) keys_arrive: bool,
}

impl ResilientLayer {
    /// The [preset](crate::preset) with its [defaults](crate::tower_mcp#limits).
    #[must_use]
    pub fn new() -> Self {
        Self::with_preset(&ResilienceLayer::new())
    }
}

impl Default for ResilientLayer {
    fn default() -> Self {
        Self::new()
    }
}

impl<S> ResilientLayer<S> {
    /// The preset with other settings and layers.
    #[must_use]
    pub fn with_preset<L, M>(preset: &ResilienceLayer<L, M>) -> Self
    where
        ResilienceLayer<L, M>: Layer<RouterService, Service = S>,
        M: HearsKeys,
    {
        let mut layer = Self::with_layer(preset).ends_with(preset.fatal_handle());
        if let Some(keyed) = preset.idempotency_handle() {
            layer = layer.remembers(keyed);
        }
        layer.life.log = preset.log_sink();
        layer.observers = preset.observers().clone();
        layer
    }

    /// A stack of your own. To serve, the stack has to be `Clone + Send + Sync`; tower's
    /// `boxed_clone_sync` makes it so.
    ///
    /// **For a [`ResilienceLayer`], use [`with_preset`](Self::with_preset).** This function does not
    /// know where the log is: [flush](crate::call_log::Sink::flush) it before the process ends. The
    /// first failure of class [`Fatal`](crate::Class::Fatal) that comes out of the stack ends the
    /// server.
    #[must_use]
    pub fn with_layer<L>(layer: &L) -> Self
    where
        L: Layer<RouterService, Service = S>,
    {
        let life = Lifetime::new();
        Self {
            stack: layer.layer(RouterService::new(life.running.clone())),
            life,
            learned: Learned::default(),
            incoming: Incoming::default(),
            heartbeat: Some(HEARTBEAT),
            bridges: Bridges::default(),
            observers: Observers::default(),
            keys_arrive: false,
        }
    }

    /// Hands idempotency keys to tools, and waits at the end of the server for the runs of this layer that
    /// have lost their caller. Over stdio the server also says in its capabilities that it honours keys. For a
    /// stack of your own that has an [`IdempotencyLayer`](crate::idempotency::IdempotencyLayer); the preset does
    /// so by itself.
    #[must_use]
    pub fn remembers(self, keyed: &IdempotencyHandle) -> Self {
        self.life.running.keep(keyed);
        self
    }

    /// Also ends the server when this handle's stack shuts. For a stack with a shared
    /// [`FatalLayer`](crate::fatal::FatalLayer). The preset does this by itself.
    #[must_use]
    pub fn ends_with(mut self, fatal: FatalHandle) -> Self {
        self.life.fatal = fatal;
        self
    }

    /// How long running calls may still take at the end of the server. Default: 10 s.
    ///
    /// It holds for [`run`](Self::run), [`run_with_stop`](Self::run_with_stop) and
    /// [`run_until`](Self::run_until), after a signal, a fatal failure, and the end of stdin. Zero
    /// cuts the calls off at once. A supervisor that kills the process should wait at least 5 s
    /// longer.
    #[must_use]
    pub fn grace(mut self, grace: Duration) -> Self {
        self.life.grace = grace;
        self
    }

    /// After how long without progress the client of a call gets some from the server itself, and how often
    /// while the silence lasts: 15 s, unless set. `None` or zero turns it off.
    ///
    /// Only a client that gave a progress token gets any. They stop for an attempt in which the tool reports
    /// by itself, so that the client notices when such a tool stops. See [the page of the
    /// adapter](crate::tower_mcp#progress).
    #[must_use]
    pub fn heartbeat(mut self, every: impl Into<Option<Duration>>) -> Self {
        self.heartbeat = every.into().filter(|every| !every.is_zero());
        self
    }

    /// The handle to wait on for the first fatal failure.
    #[must_use]
    pub fn fatal_handle(&self) -> &FatalHandle {
        &self.life.fatal
    }

    /// Stops serving calls, for good and for all clones. From here on, new calls are refused. Running
    /// calls may end within this time; then they are cut off, and answered that they may have run. A
    /// handler that blocks its thread is abandoned. Then the log of a preset has up to a second to be
    /// written.
    ///
    /// [`run`](Self::run) and [`run_until`](Self::run_until) do this by themselves. After it, the
    /// answers still have to be sent.
    pub async fn drain(&self, at_most: Duration) {
        self.life.drain(at_most).await;
    }

    /// Serves any number of clients, as over HTTP, until the [`Stop`] or the first fatal failure. At
    /// the end:
    ///
    /// 1. New calls are refused, and running calls get the [grace](Self::grace) of 10 s. A second
    ///    signal ends the grace.
    /// 2. The rest is cut off and answered. The answers have 200 ms to be sent.
    /// 3. `end_sessions` may end the streams that would stay open for ever.
    /// 4. The server has 2 s to end, even if its clients stay.
    ///
    /// `serve` gets the future that a graceful shutdown waits for. Dropping the future of `run_until`
    /// drops that of `serve`, and nothing else.
    ///
    /// # Errors
    ///
    /// The reason to end the process: the fatal failure, or the server's own error.
    ///
    /// # Example
    ///
    /// With the feature `http` of tower-mcp:
    ///
    /// ```no_run
    /// use mcp_resilience::{fatal::{Fatal, startup::OrFatal}, tower_mcp::{ResilientLayer, Stop}};
    /// use tower_mcp::{HttpTransport, McpRouter};
    ///
    /// #[tokio::main]
    /// async fn main() -> Result<(), Fatal> {
    ///     let server = ResilientLayer::new();
    ///     let router = HttpTransport::new(McpRouter::new())
    ///         .layer(server.clone())
    ///         .into_router_at("/mcp");
    ///     let listener = tokio::net::TcpListener::bind("127.0.0.1:8000")
    ///         .await
    ///         .or_fatal("cannot listen on port 8000")?;
    ///     server
    ///         .run_until(Stop::signals(), || {}, async |shutdown| {
    ///             axum::serve(listener, router).with_graceful_shutdown(shutdown).await
    ///         })
    ///         .await
    /// }
    /// ```
    pub async fn run_until<F, E>(
        self,
        stop: impl Into<Stop>,
        end_sessions: impl FnOnce() + Send + 'static,
        serve: impl FnOnce(Shutdown) -> F,
    ) -> Result<(), Fatal>
    where
        F: Future<Output = Result<(), E>>,
        E: Into<BoxError>,
    {
        self.life.until(stop.into(), end_sessions, serve).await
    }
}

impl<S> Layer<McpRouter> for ResilientLayer<S>
where
    S: Service<ServerCall, Response = ServerAnswer> + Clone,
{
    type Service = Resilient<S>;

    fn layer(&self, router: McpRouter) -> Resilient<S> {
        Resilient::of(router, self.clone())
    }
}

impl<S> fmt::Debug for ResilientLayer<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ResilientLayer").finish_non_exhaustive()
    }
}
