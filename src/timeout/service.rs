use super::{ResponseFuture, future::Watch, layer::Shared};
use crate::{
    call::{Progress, ToolCall},
    failure::BoxError,
};
use std::{
    sync::Arc,
    task::{Context, Poll},
};
use tower::Service;

/// Limits how long an attempt may go on without an answer or progress.
///
/// See the [module page](super).
#[derive(Clone, Debug)]
pub struct Timeout<S> {
    pub(super) inner: S,
    pub(super) shared: Arc<Shared>,
}

impl<S> Timeout<S> {
    /// The service within.
    pub fn get_ref(&self) -> &S {
        &self.inner
    }

    /// The service within, to be changed.
    pub fn get_mut(&mut self) -> &mut S {
        &mut self.inner
    }

    /// Unwraps the service within.
    pub fn into_inner(self) -> S {
        self.inner
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
        let limits = self.shared.table.of(&call);
        let attempt = call.progress().map(Progress::attempt);
        let watch = Watch::of(&self.shared.observers, &call);
        ResponseFuture::new(limits, attempt, watch, self.inner.call(call))
    }
}
