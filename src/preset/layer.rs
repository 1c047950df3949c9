use super::{Resilience, ResilienceBuilder};
use crate::{
    always_ready::AlwaysReadyLayer,
    call_log::{CallLogLayer, Sink},
    classify::{Classify, ClassifyLayer},
    failure::BoxError,
    fatal::{FatalHandle, FatalLayer},
    idempotency::{HearsKeys, Idempotency, IdempotencyHandle, NoKeys},
    is_error::IsErrorLayer,
    observe::Observers,
    policy::Policies,
    reconnect::{Probe, Reconnect, ReconnectHandle, ReconnectLayer},
    retry::RetryLayer,
    timeout::{Timeout, TimeoutLayer},
};
use std::sync::Arc;
use tower::{Layer, Service, layer::util::Identity};

/// Wraps services in all layers, in the recommended order.
///
/// The services of one layer share its budget, its log and its end. See the [module page](super) for
/// the order and the defaults. `L` are your layers right inside [`Classify`], by
/// [`layer_inside`](ResilienceBuilder::layer_inside).
///
/// ```
/// use mcp_resilience::ResilienceLayer;
/// use tower::ServiceBuilder;
///
/// let tools = ServiceBuilder::new()
///     .layer(ResilienceLayer::new())
///     .service(()); // your service of tool calls
/// # let _ = tools;
/// ```
#[derive(Clone, Debug)]
pub struct ResilienceLayer<L = Identity, M = NoKeys> {
    pub(super) log: CallLogLayer,
    pub(super) is_error: IsErrorLayer,
    pub(super) fatal: FatalLayer,
    pub(super) retry: RetryLayer,
    pub(super) ready: AlwaysReadyLayer,
    pub(super) classify: ClassifyLayer,
    pub(super) inside: L,
    pub(super) keys: M,
    pub(super) timeout: TimeoutLayer,
    pub(super) connection_timeout: TimeoutLayer,
    pub(super) observers: Observers,
}

/// The service that [`ResilienceLayer::connect`] makes, without layers of yours.
pub type Connected<C> = Resilience<Reconnect<Connection<C>>>;

/// Watches the connection, and ends it.
type Handle<C> = ReconnectHandle<Connection<C>>;

/// One of the connections.
pub type Connection<C> = Classify<Timeout<C>>;

impl ResilienceLayer {
    /// All layers with their [defaults](super#defaults).
    ///
    /// # Panics
    ///
    /// Never: the defaults are valid.
    #[must_use]
    pub fn new() -> Self {
        Self::builder()
            .build()
            .expect("the defaults are valid settings")
    }

    /// All layers with other settings.
    pub fn builder() -> ResilienceBuilder {
        ResilienceBuilder::default()
    }
}

impl<L, M: HearsKeys> ResilienceLayer<L, M> {
    /// Waits for runs that have lost their caller, and settles unknown outcomes. `None` if keys are
    /// ignored.
    #[must_use]
    pub fn idempotency_handle(&self) -> Option<&IdempotencyHandle> {
        self.keys.handle()
    }
}

impl<L, M> ResilienceLayer<L, M> {
    /// The handle to wait on for the first fatal failure.
    #[must_use]
    pub fn fatal_handle(&self) -> FatalHandle {
        self.fatal.handle()
    }

    /// The sink of the log, for [`flush`](Sink::flush) at the end of the process. `None` if the log
    /// is off.
    #[must_use]
    pub fn log_sink(&self) -> Option<Arc<dyn Sink>> {
        self.log.sink()
    }

    /// The observers, for an adapter that serves this stack.
    #[cfg_attr(
        not(feature = "rmcp"),
        allow(dead_code, reason = "only adapters of servers ask for it")
    )]
    pub(crate) fn observers(&self) -> &Observers {
        &self.observers
    }

    /// The policies for single tools, to compare their names with those of a server.
    pub fn policies(&self) -> &Policies {
        self.retry.policies_in_use().1
    }

    /// Wraps a connector. Each connection gets the timeout, and all connections together get the
    /// other layers.
    ///
    /// Each connection is also classified by itself, so that it is replaced because of what its
    /// answers and errors mean. Errors of the connector are classified by the same rules. A
    /// [probe](crate::reconnect#probes) reaches the connection without these layers.
    ///
    /// A call waits for a connection for at most half of the retry window, so that its failure says
    /// why there is none. The handle watches the connection, and ends it.
    pub fn connect<C, T, P>(
        &self,
        reconnect: &ReconnectLayer<T, P>,
        connector: C,
    ) -> (Resilience<L::Service, M>, Handle<C::Response>)
    where
        L: Layer<Reconnect<Connection<C::Response>>>,
        C: Service<T> + Clone + Send + 'static,
        C::Response: Clone + Send + 'static,
        C::Error: Into<BoxError>,
        C::Future: Send,
        T: Clone + Send + 'static,
        P: Probe<C::Response>,
        M: Clone,
    {
        let (timeout, classify, rules) = (
            self.connection_timeout.clone(),
            self.classify.clone(),
            self.classify.clone(),
        );
        let connection = reconnect.connect(
            self.retry.retry_window(),
            &self.observers,
            connector,
            move |made| classify.layer(timeout.layer(made)),
            move |error| rules.classify(error),
        );
        let handle = connection.handle();
        (self.guard(connection), handle)
    }

    /// The ready timeout of a call in these layers.
    #[cfg(feature = "rmcp-client")]
    pub(crate) fn ready_timeout_of_a_call<T, P>(
        &self,
        reconnect: &ReconnectLayer<T, P>,
    ) -> std::time::Duration {
        reconnect.ready_timeout_of_a_call(self.retry.retry_window())
    }

    fn guard<S>(&self, inner: S) -> Resilience<L::Service, M>
    where
        L: Layer<S>,
        M: Clone,
    {
        let classified = self.classify.layer(self.inside.layer(inner));
        let retried = self.retry.layer(self.ready.layer(classified));
        // Always ready: a refused call gets its log line too.
        let stopping = self.fatal.clone().answering().layer(retried);
        let flagging = self.is_error.layer(stopping);
        let keyed = Idempotency::with_mode(flagging, self.keys.clone());
        Resilience::of(self.log.layer(keyed))
    }
}

impl Default for ResilienceLayer {
    fn default() -> Self {
        Self::new()
    }
}

impl<S, L, M> Layer<S> for ResilienceLayer<L, M>
where
    L: Layer<Timeout<S>>,
    M: Clone,
{
    type Service = Resilience<L::Service, M>;

    fn layer(&self, inner: S) -> Self::Service {
        self.guard(self.timeout.layer(inner))
    }
}
