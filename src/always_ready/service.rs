use super::{AlwaysReadyLayer, ResponseFuture, ready_timeout::ReadyTimeout};
use crate::failure::{BoxError, Failure};
use std::{
    fmt, mem,
    task::{Context, Poll},
};
use tower::{Layer, Service};

/// Makes waiting for readiness a part of the call.
///
/// See the [module page](super).
pub struct AlwaysReady<S> {
    inner: S,
    ready_timeout: ReadyTimeout,
    is_ready: bool,
}

impl<S> AlwaysReady<S> {
    pub(super) fn with_ready_timeout(inner: S, ready_timeout: ReadyTimeout) -> Self {
        Self {
            inner,
            ready_timeout,
            is_ready: false,
        }
    }
}

impl<S> AlwaysReady<S> {
    /// Wraps a service.
    #[must_use]
    pub fn new(inner: S) -> Self {
        AlwaysReadyLayer::new().layer(inner)
    }

    inner_accessors!(inner);
}

impl AlwaysReady<()> {
    /// The layer, with the defaults.
    #[must_use]
    pub fn layer() -> AlwaysReadyLayer {
        AlwaysReadyLayer::new()
    }
}

impl<S, Req> Service<Req> for AlwaysReady<S>
where
    S: Service<Req> + Clone,
    S::Error: Into<BoxError> + 'static,
{
    type Response = S::Response;
    type Error = Failure;
    type Future = ResponseFuture<S, Req>;

    #[inline]
    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Failure>> {
        // An error is final: the call asks again, and gets it.
        self.is_ready = matches!(self.inner.poll_ready(cx), Poll::Ready(Ok(())));
        Poll::Ready(Ok(()))
    }

    #[inline]
    fn call(&mut self, call: Req) -> Self::Future {
        if mem::take(&mut self.is_ready) {
            return ResponseFuture::calling(self.inner.call(call));
        }
        // The call takes the instance that was asked: it may hold a place in a queue, and left here
        // that place would never be used.
        let fresh = self.inner.clone();
        let asked = mem::replace(&mut self.inner, fresh);
        ResponseFuture::waiting(asked, call, self.ready_timeout)
    }
}

impl<S: Clone> Clone for AlwaysReady<S> {
    fn clone(&self) -> Self {
        // A clone of a ready service is not ready.
        Self::with_ready_timeout(self.inner.clone(), self.ready_timeout)
    }
}

impl<S: fmt::Debug> fmt::Debug for AlwaysReady<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AlwaysReady")
            .field("inner", &self.inner)
            .finish_non_exhaustive()
    }
}
