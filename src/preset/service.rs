use super::ResponseFuture;
use crate::{
    always_ready::AlwaysReady,
    call::{ToolCall, ToolResult},
    call_log::CallLog,
    classify::Classify,
    failure::{BoxError, Failure},
    fatal::FatalStop,
    is_error::IsError,
    retry::Retry,
};
use std::{
    fmt,
    task::{Context, Poll},
};
use tower::Service;

/// A service in all layers from the log to the border: what [`ResilienceLayer`] makes.
///
/// `S` is what stands inside of [`Classify`]: for [`layer`](tower::Layer::layer) the service in its
/// [`Timeout`](crate::timeout::Timeout), for [`connect`] a [`Reconnect`](crate::reconnect::Reconnect);
/// or either of them in [layers of yours](super::ResilienceBuilder::layer_inside).
///
/// It is always ready. Each call ends with a result, a flagged result, or an error for the host; all
/// errors are [`Failure`]s. Dropping its future ends the call, and leaves its line in the log.
///
/// [`ResilienceLayer`]: super::ResilienceLayer
/// [`connect`]: super::ResilienceLayer::connect
pub struct Resilience<S> {
    layers: Layers<S>,
}

pub(super) type Layers<S> = CallLog<IsError<FatalStop<Retry<AlwaysReady<Classify<S>>>>>>;

impl<S> Resilience<S> {
    pub(super) fn new(layers: Layers<S>) -> Self {
        Self { layers }
    }
}

impl<S, Req> Service<Req> for Resilience<S>
where
    S: Service<Req, Response: ToolResult, Error: Into<BoxError>> + Clone,
    Req: ToolCall + Clone,
{
    type Response = S::Response;
    type Error = Failure;
    type Future = ResponseFuture<S, Req>;

    #[inline]
    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Failure>> {
        self.layers.poll_ready(cx)
    }

    #[inline]
    fn call(&mut self, call: Req) -> Self::Future {
        ResponseFuture::new(self.layers.call(call))
    }
}

impl<S: Clone> Clone for Resilience<S> {
    fn clone(&self) -> Self {
        Self {
            layers: self.layers.clone(),
        }
    }
}

impl<S: fmt::Debug> fmt::Debug for Resilience<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Resilience")
            .field("layers", &self.layers)
            .finish()
    }
}
