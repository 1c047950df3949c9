use super::{
    HandlerService, ServerCall, call::Identity, cancellations::Cancellations, progress::Bridges,
};
use crate::{
    fatal::FatalHandle,
    idempotency::{HearsKeys, IdempotencyHandle},
    observe::Observers,
    preset::{Resilience, ResilienceLayer},
    rmcp::capability,
    serve::{Learned, Lifetime, progress::HEARTBEAT},
    timeout::Timeout,
};
use ::rmcp::{ServerHandler, model::ServerCapabilities};
use std::{sync::Arc, time::Duration};
use tower::Layer;

/// The preset around a handler.
pub type PresetStack<H> = Resilience<Timeout<HandlerService<H>>>;

/// A handler in a stack, which is itself a [`ServerHandler`].
///
/// See the [page of the adapter](crate::rmcp) for how each failure is answered. Clones share the
/// handler and the state of the stack.
///
/// ```
/// use mcp_resilience::rmcp::Resilient;
/// use rmcp::{ServerHandler, tool, tool_handler, tool_router};
///
/// struct Bookshop;
///
/// #[tool_router]
/// impl Bookshop {
///     #[tool(annotations(read_only_hint = true))]
///     async fn recommend(&self) -> String {
///         "Emma".to_owned()
///     }
/// }
///
/// #[tool_handler]
/// impl ServerHandler for Bookshop {}
///
/// let server = Resilient::new(Bookshop); // then `server.run(stdio()).await`
/// # fn serve(_: impl ServerHandler) {}
/// # serve(server);
/// ```
#[must_use = "a server does nothing until it is run"]
pub struct Resilient<H, S = PresetStack<H>> {
    pub(super) handler: Arc<H>,
    pub(super) stack: S,
    pub(super) life: Lifetime,
    pub(super) learned: Learned,
    pub(super) heartbeat: Option<Duration>,
    // Of this clone: rmcp gives each session its own.
    pub(super) bridges: Bridges,
    pub(super) observers: Observers,
    pub(super) cancellations: Cancellations,
    pub(super) identity: Option<Arc<Identity>>,
}

impl<H: ServerHandler> Resilient<H> {
    /// Wraps a handler in the [preset](crate::preset) with its [defaults](crate::rmcp#limits): one
    /// log line for each call on stderr, 10 minutes without progress for an attempt, and three
    /// attempts that begin within 55 s.
    pub fn new(handler: H) -> Self {
        Self::with_preset(handler, &ResilienceLayer::new())
    }
}

impl<H: ServerHandler, S> Resilient<H, S> {
    /// Wraps a handler in a preset with other settings and layers.
    pub fn with_preset<L, M>(handler: H, preset: &ResilienceLayer<L, M>) -> Self
    where
        ResilienceLayer<L, M>: Layer<HandlerService<H>, Service = S>,
        M: HearsKeys,
    {
        let mut server = Self::with_layer(handler, preset).ends_with(preset.fatal_handle());
        if let Some(keyed) = preset.idempotency_handle() {
            server = server.remembers(keyed);
        }
        server.life.log = preset.log_sink();
        server.observers = preset.observers().clone();
        server
    }

    /// Wraps a handler in a stack of your own. To serve, the stack has to be `Clone + Send + Sync`;
    /// tower's `boxed_clone_sync` makes it so.
    ///
    /// **For a [`ResilienceLayer`], use [`with_preset`](Self::with_preset).** This function does not
    /// know where the log is: [flush](crate::call_log::Sink::flush) it before the process ends. The
    /// first failure of class [`Fatal`](crate::Class::Fatal) that comes out of the stack ends the
    /// server.
    ///
    /// ```
    /// use mcp_resilience::{
    ///     always_ready::AlwaysReadyLayer, classify::ClassifyLayer, is_error::IsErrorLayer,
    ///     retry::RetryLayer, rmcp::Resilient,
    /// };
    /// use tower::ServiceBuilder;
    ///
    /// # struct Bookshop;
    /// # impl rmcp::ServerHandler for Bookshop {}
    /// let stack = ServiceBuilder::new()
    ///     .layer(IsErrorLayer::new())
    ///     .layer(RetryLayer::new())
    ///     .layer(AlwaysReadyLayer::new())
    ///     .layer(ClassifyLayer::new())
    ///     .concurrency_limit(8)
    ///     .into_inner();
    /// let server = Resilient::with_layer(Bookshop, &stack);
    /// # fn serve(_: impl rmcp::ServerHandler) {}
    /// # serve(server);
    /// ```
    pub fn with_layer<L>(handler: H, layer: &L) -> Self
    where
        L: Layer<HandlerService<H>, Service = S>,
    {
        let handler = Arc::new(handler);
        let life = Lifetime::new();
        let service = HandlerService::new(Arc::clone(&handler), life.running.clone());
        Self {
            stack: layer.layer(service),
            handler,
            life,
            learned: Learned::default(),
            heartbeat: Some(HEARTBEAT),
            bridges: Bridges::default(),
            observers: Observers::default(),
            cancellations: Cancellations::default(),
            identity: None,
        }
    }

    /// Also ends the server when this handle's stack shuts. For a stack with a shared
    /// [`FatalLayer`](crate::fatal::FatalLayer). The preset does this by itself.
    pub fn ends_with(mut self, fatal: FatalHandle) -> Self {
        self.life.fatal = fatal;
        self
    }

    /// Adds the capability for idempotency keys, and waits at the end of the server for runs that
    /// have lost their caller. For a stack of your own with an
    /// [`IdempotencyLayer`](crate::idempotency::IdempotencyLayer). The preset does this by itself.
    pub fn remembers(self, keyed: &IdempotencyHandle) -> Self {
        self.life.running.keep(keyed);
        self
    }

    /// Sets who a caller is, for idempotency keys: the subject of a token, a tenant. `None` is an
    /// identity too. Default: the value of the header `Authorization`.
    ///
    /// ```
    /// # struct Bookshop;
    /// # impl rmcp::ServerHandler for Bookshop {}
    /// use mcp_resilience::rmcp::Resilient;
    ///
    /// /// What a layer in front of rmcp has put into the request's extensions.
    /// #[derive(Clone)]
    /// struct Subject(String);
    ///
    /// let server = Resilient::new(Bookshop).identity(|call| {
    ///     let parts = call.context().extensions.get::<http::request::Parts>()?;
    ///     let Subject(subject) = parts.extensions.get()?;
    ///     Some(subject.clone().into_bytes())
    /// });
    /// # let _ = server;
    /// ```
    pub fn identity(
        mut self,
        identity: impl Fn(&ServerCall) -> Option<Vec<u8>> + Send + Sync + 'static,
    ) -> Self {
        self.identity = Some(Arc::new(identity));
        self
    }

    /// How long running calls may still take at the end of the server. Default: 10 s.
    ///
    /// It holds for [`run`](Self::run), [`run_with_stop`](Self::run_with_stop) and
    /// [`run_until`](Self::run_until), after a signal and after a fatal failure. Zero cuts the calls
    /// off at once. A supervisor that kills the process should wait at least 5 s longer.
    pub fn grace(mut self, grace: Duration) -> Self {
        self.life.grace = grace;
        self
    }

    /// After how long without progress the client of a call gets some from the server itself, and how often
    /// while the silence lasts: 15 s, unless set. `None` or zero turns it off.
    ///
    /// Only a client that gave a progress token gets any. They stop for an attempt in which the tool reports
    /// by itself, so that the client notices when such a tool stops. See [the page of the
    /// adapter](crate::rmcp#progress).
    pub fn heartbeat(mut self, every: impl Into<Option<Duration>>) -> Self {
        self.heartbeat = every.into().filter(|every| !every.is_zero());
        self
    }

    /// Adds the abilities of the stack to the handler's capabilities.
    pub(super) fn tell(&self, capabilities: &mut ServerCapabilities) {
        if let Some(keyed) = self.life.running.keyed() {
            let is_stable = self.identity.is_some() || keyed.has_scope();
            capability::add(capabilities, keyed, is_stable);
        }
    }

    /// The handler.
    #[must_use]
    pub fn handler(&self) -> &H {
        &self.handler
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
}

impl<H, S: Clone> Clone for Resilient<H, S> {
    fn clone(&self) -> Self {
        Self {
            handler: Arc::clone(&self.handler),
            stack: self.stack.clone(),
            life: self.life.clone(),
            learned: self.learned.clone(),
            heartbeat: self.heartbeat,
            bridges: Bridges::default(),
            observers: self.observers.clone(),
            cancellations: Cancellations::default(),
            identity: self.identity.clone(),
        }
    }
}

debug_name!(Resilient<H, S>);
