use std::{
    mem,
    task::{Context, Poll, ready},
};
use tower::Service;

/// Fails the test on a call that this very instance was not made ready for.
///
/// A clone starts unready, and a call uses the readiness up, as in tower's `ConcurrencyLimit`.
#[derive(Debug)]
pub(crate) struct Strict<S> {
    inner: S,
    is_ready: bool,
}

impl<S> Strict<S> {
    pub(crate) fn new(inner: S) -> Self {
        Self {
            inner,
            is_ready: false,
        }
    }
}

impl<S: Clone> Clone for Strict<S> {
    fn clone(&self) -> Self {
        Self::new(self.inner.clone())
    }
}

impl<S: Service<Req>, Req> Service<Req> for Strict<S> {
    type Response = S::Response;
    type Error = S::Error;
    type Future = S::Future;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        ready!(self.inner.poll_ready(cx))?;
        self.is_ready = true;
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, call: Req) -> S::Future {
        let was_ready = mem::take(&mut self.is_ready);
        assert!(was_ready, "called an instance that nobody made ready");
        self.inner.call(call)
    }
}
