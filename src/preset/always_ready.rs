use pin_project::pin_project;
use std::{
    fmt, mem,
    pin::Pin,
    task::{Context, Poll},
};
use tower::{Layer, Service, ServiceExt, util::Oneshot};

/// Wraps services in [`AlwaysReady`].
#[derive(Clone, Copy, Debug, Default)]
pub struct AlwaysReadyLayer {
    _private: (),
}

impl AlwaysReadyLayer {
    /// Creates the layer.
    #[must_use]
    pub const fn new() -> Self {
        Self { _private: () }
    }
}

impl<S> Layer<S> for AlwaysReadyLayer {
    type Service = AlwaysReady<S>;

    fn layer(&self, inner: S) -> Self::Service {
        AlwaysReady::new(inner)
    }
}

/// Makes waiting for the inner service a part of the call, as well as its refusal.
///
/// An MCP request is there whether or not anybody is ready for it, and has to be answered and to
/// be logged either way. Right inside [`retry`](crate::retry) it sees to it that the deadline covers
/// the wait for a first readiness too; inside [`call_log`](crate::call_log), that a call which finds
/// nobody ready leaves its line.
///
/// What stands outside of it sees no back-pressure any more: a load shed or a concurrency limit
/// belongs inside.
///
/// The instance that was made ready is the one that is called. Dropping the future gives up its
/// place in the inner service's queue.
pub struct AlwaysReady<S> {
    inner: S,
    is_ready: bool,
}

impl<S> AlwaysReady<S> {
    pub(super) fn new(inner: S) -> Self {
        Self {
            inner,
            is_ready: false,
        }
    }
}

impl<S, Req> Service<Req> for AlwaysReady<S>
where
    S: Service<Req> + Clone,
{
    type Response = S::Response;
    type Error = S::Error;
    type Future = ResponseFuture<S, Req>;

    #[inline]
    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        // An error is one for good: the call asks again, and gets it.
        self.is_ready = matches!(self.inner.poll_ready(cx), Poll::Ready(Ok(())));
        Poll::Ready(Ok(()))
    }

    #[inline]
    fn call(&mut self, call: Req) -> Self::Future {
        let state = if mem::take(&mut self.is_ready) {
            State::Calling(self.inner.call(call))
        } else {
            // The call takes the instance that was asked: it may hold a place in a queue, and left
            // here would be given its turn with nobody to use it.
            let fresh = self.inner.clone();
            let asked = mem::replace(&mut self.inner, fresh);
            State::Readying(Box::pin(asked.oneshot(call)))
        };
        ResponseFuture { state }
    }
}

impl<S: Clone> Clone for AlwaysReady<S> {
    fn clone(&self) -> Self {
        // A clone of what is ready is not.
        Self::new(self.inner.clone())
    }
}

impl<S: fmt::Debug> fmt::Debug for AlwaysReady<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AlwaysReady")
            .field("inner", &self.inner)
            .finish_non_exhaustive()
    }
}

/// Response future of [`AlwaysReady`].
#[pin_project]
pub struct ResponseFuture<S, Req>
where
    S: Service<Req>,
{
    #[pin]
    state: State<S, S::Future, Req>,
}

#[pin_project(project = StateProj)]
enum State<S, F, Req>
where
    S: Service<Req>,
{
    Calling(#[pin] F),
    // Boxed: it holds the request and the service, and most calls need neither.
    Readying(Pin<Box<Oneshot<S, Req>>>),
}

impl<S, Req> Future for ResponseFuture<S, Req>
where
    S: Service<Req>,
{
    type Output = Result<S::Response, S::Error>;

    #[inline]
    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        match self.project().state.project() {
            StateProj::Calling(answer) => answer.poll(cx),
            StateProj::Readying(answer) => answer.as_mut().poll(cx),
        }
    }
}

impl<S, Req> fmt::Debug for ResponseFuture<S, Req>
where
    S: Service<Req>,
{
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ResponseFuture").finish_non_exhaustive()
    }
}
