use super::{ResilienceLayer, ResponseFuture};
use crate::{
    always_ready::AlwaysReady,
    call_log::CallLog,
    classify::Classify,
    failure::Failure,
    fatal::FatalStop,
    idempotency::{Idempotency, NoKeys},
    is_error::IsError,
    retry::Retry,
    timeout::Timeout,
};
use std::{
    fmt,
    task::{Context, Poll},
};
use tower::{Layer, Service};

/// A service in all layers. [`ResilienceLayer`] makes it.
///
/// `S` is the service inside [`Classify`]. [`layer`](tower::Layer::layer) makes it the service in its
/// [`Timeout`](crate::timeout::Timeout), and [`connect`] a
/// [`Reconnect`](crate::reconnect::Reconnect). Both may be in [layers of
/// yours](super::ResilienceBuilder::layer_inside).
///
/// It is always ready. Each call ends with a result, a flagged result, or an error for the host; all
/// errors are [`Failure`]s. Dropping the future ends the call, and leaves its line in the log.
///
/// [`ResilienceLayer`]: super::ResilienceLayer
/// [`connect`]: super::ResilienceLayer::connect
pub struct Resilience<S, M = NoKeys> {
    layers: Layers<S, M>,
}

pub(super) type Layers<S, M> =
    CallLog<Idempotency<IsError<FatalStop<Retry<AlwaysReady<Classify<S>>>>>, M>>;

impl<S, M> Resilience<S, M> {
    pub(super) fn of(layers: Layers<S, M>) -> Self {
        Self { layers }
    }

    /// The service inside `Classify`.
    #[must_use]
    pub fn get_ref(&self) -> &S {
        let retry = self.layers.get_ref().get_ref().get_ref().get_ref();
        retry.get_ref().get_ref().get_ref()
    }

    /// The service inside `Classify`, mutably.
    #[must_use]
    pub fn get_mut(&mut self) -> &mut S {
        let retry = self.layers.get_mut().get_mut().get_mut().get_mut();
        retry.get_mut().get_mut().get_mut()
    }

    /// Returns the service inside `Classify`.
    #[must_use]
    pub fn into_inner(self) -> S {
        let retry = self
            .layers
            .into_inner()
            .into_inner()
            .into_inner()
            .into_inner();
        retry.into_inner().into_inner().into_inner()
    }
}

impl<S> Resilience<Timeout<S>> {
    /// Wraps a service in all layers, with the [defaults](super#defaults).
    #[must_use]
    pub fn new(inner: S) -> Self {
        ResilienceLayer::new().layer(inner)
    }
}

impl Resilience<()> {
    /// All layers, with the [defaults](super#defaults).
    #[must_use]
    pub fn layer() -> ResilienceLayer {
        ResilienceLayer::new()
    }
}

impl<S, M, Req> Service<Req> for Resilience<S, M>
where
    Layers<S, M>: Service<Req, Error = Failure>,
{
    type Response = <Layers<S, M> as Service<Req>>::Response;
    type Error = Failure;
    type Future = ResponseFuture<S, Req, M>;

    #[inline]
    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Failure>> {
        self.layers.poll_ready(cx)
    }

    #[inline]
    fn call(&mut self, call: Req) -> Self::Future {
        ResponseFuture::new(self.layers.call(call))
    }
}

impl<S: Clone, M: Clone> Clone for Resilience<S, M> {
    fn clone(&self) -> Self {
        Self {
            layers: self.layers.clone(),
        }
    }
}

impl<S: fmt::Debug, M: fmt::Debug> fmt::Debug for Resilience<S, M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Resilience")
            .field("layers", &self.layers)
            .finish()
    }
}
