use super::{IsErrorLayer, ResponseFuture, layer::Settings, target::Target};
use crate::{
    call::{ToolCall, ToolResult},
    failure::{BoxError, Failure},
    ledger::Ledger,
};
use std::task::{Context, Poll};
use tower::{Layer, Service};

/// Turns failures that a model can use into flagged results.
///
/// See the [module page](super).
#[derive(Clone, Debug)]
pub struct IsError<S> {
    pub(super) inner: S,
    pub(super) settings: Settings,
}

impl<S> IsError<S> {
    /// Flags the failures of a service.
    #[must_use]
    pub fn new(inner: S) -> Self {
        IsErrorLayer::new().layer(inner)
    }

    inner_accessors!(inner);
}

impl IsError<()> {
    /// The layer, with the defaults.
    #[must_use]
    pub fn layer() -> IsErrorLayer {
        IsErrorLayer::new()
    }
}

impl<S, Req> Service<Req> for IsError<S>
where
    S: Service<Req>,
    S::Response: ToolResult,
    S::Error: Into<BoxError>,
    Req: ToolCall,
{
    type Response = S::Response;
    type Error = Failure;
    type Future = ResponseFuture<S::Future>;

    #[inline]
    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Failure>> {
        self.inner.poll_ready(cx).map_err(Failure::from_any)
    }

    #[inline]
    fn call(&mut self, call: Req) -> Self::Future {
        let target = Target::of(&call);
        let ledger = Ledger::of(|| call.progress()?.ledger());
        let settings = self.settings.clone();
        ResponseFuture::new(self.inner.call(call), target, settings, ledger)
    }
}
