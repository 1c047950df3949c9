use super::{ResponseFuture, latch::Latch};
use crate::failure::{BoxError, Class, Failure};
use std::{
    sync::Arc,
    task::{Context, Poll},
};
use tower::Service;

/// Shuts at the first fatal failure.
///
/// See the [module page](super).
#[derive(Clone, Debug)]
pub struct FatalStop<S> {
    pub(super) inner: S,
    pub(super) latch: Arc<Latch>,
}

impl<S, Req> Service<Req> for FatalStop<S>
where
    S: Service<Req>,
    S::Error: Into<BoxError>,
{
    type Response = S::Response;
    type Error = Failure;
    type Future = ResponseFuture<S::Future>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Failure>> {
        if let Some(cause) = self.latch.cause() {
            return Poll::Ready(Err(cause));
        }
        self.inner.poll_ready(cx).map_err(|error| {
            let failure = Failure::from_any(error);
            if failure.class() == Class::Fatal {
                self.latch.shut(&failure);
            }
            failure
        })
    }

    fn call(&mut self, call: Req) -> Self::Future {
        match self.latch.cause() {
            // Shut between readiness and call.
            Some(cause) => ResponseFuture::shut(cause),
            None => ResponseFuture::new(self.inner.call(call), Arc::clone(&self.latch)),
        }
    }
}
