use super::service::Layers;
use crate::{failure::Failure, idempotency::NoKeys};
use pin_project::pin_project;
use std::{
    fmt,
    pin::Pin,
    task::{Context, Poll},
};
use tower::Service;

/// Response future of [`Resilience`](super::Resilience).
#[pin_project]
pub struct ResponseFuture<S, Req, M = NoKeys>
where
    Layers<S, M>: Service<Req>,
{
    #[pin]
    answer: <Layers<S, M> as Service<Req>>::Future,
}

impl<S, Req, M> ResponseFuture<S, Req, M>
where
    Layers<S, M>: Service<Req>,
{
    #[inline]
    pub(super) fn new(answer: <Layers<S, M> as Service<Req>>::Future) -> Self {
        Self { answer }
    }
}

impl<S, Req, M> Future for ResponseFuture<S, Req, M>
where
    Layers<S, M>: Service<Req, Error = Failure>,
{
    type Output = Result<<Layers<S, M> as Service<Req>>::Response, Failure>;

    #[inline]
    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        self.project().answer.poll(cx)
    }
}

impl<S, Req, M> fmt::Debug for ResponseFuture<S, Req, M>
where
    Layers<S, M>: Service<Req>,
{
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ResponseFuture").finish_non_exhaustive()
    }
}
