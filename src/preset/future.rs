use super::service::Layers;
use crate::{
    call::{ToolCall, ToolResult},
    failure::{BoxError, Failure},
};
use pin_project::pin_project;
use std::{
    fmt,
    pin::Pin,
    task::{Context, Poll},
};
use tower::Service;

/// Response future of [`Resilience`](super::Resilience).
#[pin_project]
pub struct ResponseFuture<S, Req>
where
    S: Service<Req, Response: ToolResult, Error: Into<BoxError>> + Clone,
    Req: ToolCall + Clone,
{
    #[pin]
    answer: <Layers<S> as Service<Req>>::Future,
}

impl<S, Req> ResponseFuture<S, Req>
where
    S: Service<Req, Response: ToolResult, Error: Into<BoxError>> + Clone,
    Req: ToolCall + Clone,
{
    #[inline]
    pub(super) fn new(answer: <Layers<S> as Service<Req>>::Future) -> Self {
        Self { answer }
    }
}

impl<S, Req> Future for ResponseFuture<S, Req>
where
    S: Service<Req, Response: ToolResult, Error: Into<BoxError>> + Clone,
    Req: ToolCall + Clone,
{
    type Output = Result<S::Response, Failure>;

    #[inline]
    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        self.project().answer.poll(cx)
    }
}

impl<S, Req> fmt::Debug for ResponseFuture<S, Req>
where
    S: Service<Req, Response: ToolResult, Error: Into<BoxError>> + Clone,
    Req: ToolCall + Clone,
{
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ResponseFuture").finish_non_exhaustive()
    }
}
