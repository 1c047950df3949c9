use super::ResilienceBuilder;
use crate::{
    call_log::{CallLog, CallLogLayer},
    classify::{Classify, ClassifyLayer},
    failure::BoxError,
    fatal::{FatalHandle, FatalLayer, FatalStop},
    is_error::{IsError, IsErrorLayer},
    reconnect::{Reconnect, ReconnectHandle, ReconnectLayer},
    retry::{Retry, RetryLayer},
};
use tower::{
    Layer, Service,
    timeout::{Timeout, TimeoutLayer},
};

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
    pub(super) classify: ClassifyLayer,
    pub(super) timeout: TimeoutLayer,
}

/// A service in all layers.
pub type Resilience<S> = CallLog<Guarded<Timeout<S>>>;

/// The connections of a connector in all layers.
pub type Connected<C> = CallLog<Guarded<Reconnect<Timeout<C>>>>;

/// A service in all layers but the log and the timeout.
pub type Guarded<S> = IsError<FatalStop<Retry<Classify<S>>>>;

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

    /// Wraps a connector: the connections it makes get the timeout, and all of them together the
    /// other layers. The handle watches the connection, and ends it.
    pub fn connect<M, T>(
        &self,
        reconnect: &ReconnectLayer<T>,
        connector: M,
    ) -> (
        Connected<M::Response>,
        ReconnectHandle<Timeout<M::Response>>,
    )
    where
        M: Service<T> + Clone + Send + 'static,
        M::Response: Clone + Send + 'static,
        M::Error: Into<BoxError>,
        M::Future: Send,
        T: Clone + Send + 'static,
    {
        let timeout = self.timeout.clone();
        let connection = reconnect.connect(connector, move |made| timeout.layer(made));
        let handle = connection.handle();
        (self.log.layer(self.guard(connection)), handle)
    }

    pub(crate) fn log(&self) -> &CallLogLayer {
        &self.log
    }

    /// All layers but the log.
    pub(crate) fn layer_within<S>(&self, inner: S) -> Guarded<Timeout<S>> {
        self.guard(self.timeout.layer(inner))
    }

    fn guard<S>(&self, inner: S) -> Guarded<S> {
        let classified = self.classify.layer(inner);
        let retried = self.retry.layer(classified);
        self.is_error.layer(self.fatal.layer(retried))
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
        self.log.layer(self.layer_within(inner))
    }
}
