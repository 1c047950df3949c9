use super::{ResponseFuture, TimeoutLayer, future::Watched, layer::Shared};
use crate::{call::ToolCall, failure::BoxError, policy::InvalidPolicy};
use std::{
    sync::Arc,
    task::{Context, Poll},
    time::Duration,
};
use tower::{Layer, Service};

/// Limits how long an attempt may go on without an answer or progress.
///
/// See the [module page](super).
#[derive(Clone, Debug)]
pub struct Timeout<S> {
    pub(super) inner: S,
    pub(super) shared: Arc<Shared>,
}

impl<S> Timeout<S> {
    /// Limits the attempts of a service.
    ///
    /// # Errors
    ///
    /// If the limit is zero, or above the ceiling.
    pub fn new(inner: S, limit: Duration) -> Result<Self, InvalidPolicy> {
        Ok(TimeoutLayer::new(limit)?.layer(inner))
    }

    inner_accessors!(inner);
}

impl Timeout<()> {
    /// The layer that limits attempts.
    ///
    /// # Errors
    ///
    /// As [`Timeout::new`].
    pub fn layer(limit: Duration) -> Result<TimeoutLayer, InvalidPolicy> {
        TimeoutLayer::new(limit)
    }
}

impl<S, Req> Service<Req> for Timeout<S>
where
    S: Service<Req>,
    S::Error: Into<BoxError>,
    Req: ToolCall,
{
    type Response = S::Response;
    type Error = BoxError;
    type Future = ResponseFuture<S::Future>;

    #[inline]
    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        self.inner.poll_ready(cx).map_err(Into::into)
    }

    #[inline]
    fn call(&mut self, call: Req) -> Self::Future {
        let watched = Watched::new(&self.shared, &call);
        ResponseFuture::new(watched, self.inner.call(call))
    }
}
