use super::ResilienceBuilder;
use crate::{
    always_ready::{AlwaysReady, AlwaysReadyLayer},
    call_log::{CallLog, CallLogLayer, Sink},
    classify::{Classify, ClassifyLayer},
    failure::BoxError,
    fatal::{FatalHandle, FatalLayer, FatalStop},
    is_error::{IsError, IsErrorLayer},
    reconnect::{Reconnect, ReconnectHandle, ReconnectLayer},
    retry::{Retry, RetryLayer},
    timeout::{Timeout, TimeoutLayer},
};
use std::sync::Arc;
use tower::{Layer, Service};

/// Wraps services in all layers, in the recommended order.
///
/// The services of one layer share its budget, its log and its end. See the
/// [module page](super) for the order, the defaults and an example.
#[derive(Clone, Debug)]
pub struct ResilienceLayer {
    pub(super) log: CallLogLayer,
    pub(super) is_error: IsErrorLayer,
    pub(super) fatal: FatalLayer,
    pub(super) retry: RetryLayer,
    pub(super) ready: AlwaysReadyLayer,
    pub(super) classify: ClassifyLayer,
    pub(super) timeout: TimeoutLayer,
    pub(super) connection_timeout: TimeoutLayer,
}

/// A service in all layers.
pub type Resilience<S> = Guarded<Timeout<S>>;

/// The connections of a connector in all layers.
pub type Connected<C> = Guarded<Reconnect<Connection<C>>>;

/// One of them.
pub type Connection<C> = Classify<Timeout<C>>;

/// A service in all layers but the timeout.
pub type Guarded<S> = CallLog<IsError<FatalStop<Retry<AlwaysReady<Classify<S>>>>>>;

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

    /// What to wait on for the first fatal failure.
    #[must_use]
    pub fn fatal_handle(&self) -> FatalHandle {
        self.fatal.handle()
    }

    /// Where the log goes, for [`flush`](Sink::flush) at the end of the process; none if it is off.
    #[must_use]
    pub fn log_sink(&self) -> Option<Arc<dyn Sink>> {
        self.log.sink()
    }

    /// Wraps a connector: the connections it makes get the timeout, and all of them together the
    /// other layers. Each is classified by itself too, so that a connection is replaced for what
    /// its answers and errors mean, and not for their types alone; errors of the connector are
    /// named by the same rules. A call waits for a connection for half of the retry window at most, so
    /// that what it fails with says why there is none. The handle watches the connection, and ends
    /// it.
    pub fn connect<M, T>(
        &self,
        reconnect: &ReconnectLayer<T>,
        connector: M,
    ) -> (
        Connected<M::Response>,
        ReconnectHandle<Connection<M::Response>>,
    )
    where
        M: Service<T> + Clone + Send + 'static,
        M::Response: Clone + Send + 'static,
        M::Error: Into<BoxError>,
        M::Future: Send,
        T: Clone + Send + 'static,
    {
        let (timeout, classify, rules) = (
            self.connection_timeout.clone(),
            self.classify.clone(),
            self.classify.clone(),
        );
        let connection = reconnect.connect(
            self.retry.retry_window(),
            connector,
            move |made| classify.layer(timeout.layer(made)),
            move |error| rules.name(error),
        );
        let handle = connection.handle();
        (self.guard(connection), handle)
    }

    fn guard<S>(&self, inner: S) -> Guarded<S> {
        let classified = self.classify.layer(inner);
        let retried = self.retry.layer(self.ready.layer(classified));
        // Ready, whatever happens: a call that is refused is a call too, and has its line.
        let stopping = self.fatal.clone().answering().layer(retried);
        self.log.layer(self.is_error.layer(stopping))
    }
}

impl Default for ResilienceLayer {
    fn default() -> Self {
        Self::new()
    }
}

impl<S> Layer<S> for ResilienceLayer {
    type Service = Resilience<S>;

    fn layer(&self, inner: S) -> Self::Service {
        self.guard(self.timeout.layer(inner))
    }
}
