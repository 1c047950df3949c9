use std::task::{Context, Poll};
use tower::{Service, ServiceExt, util::Oneshot};

/// Readies the inner service within the call, so that waiting for it, and its refusal, are part of
/// the call, and show in its log line.
///
/// rmcp has no readiness: each request is a task that is there already.
#[derive(Clone, Debug)]
pub struct Readied<S> {
    inner: S,
}

impl<S> Readied<S> {
    pub(super) fn new(inner: S) -> Self {
        Self { inner }
    }
}

impl<S, Req> Service<Req> for Readied<S>
where
    S: Service<Req> + Clone,
{
    type Response = S::Response;
    type Error = S::Error;
    type Future = Oneshot<S, Req>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, call: Req) -> Self::Future {
        self.inner.clone().oneshot(call)
    }
}
