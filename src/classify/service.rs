use super::{ClassifyLayer, ResponseFuture, catch_panic::catch_silenced, error, rules::Rules};
use crate::{
    call::ToolResult,
    failure::{BoxError, Failure},
    ledger,
};
use std::task::{Context, Poll};
use tower::{Layer, Service};

/// Makes one [`Failure`] of every error, every flagged result and every panic.
///
/// See the [module page](super).
#[derive(Clone, Debug)]
pub struct Classify<S> {
    pub(super) inner: S,
    pub(super) rules: Rules,
}

impl<S> Classify<S> {
    /// Classifies the failures of a service.
    #[must_use]
    pub fn new(inner: S) -> Self {
        ClassifyLayer::new().layer(inner)
    }

    inner_accessors!(inner);
}

impl Classify<()> {
    /// The layer, with the defaults.
    pub fn layer() -> ClassifyLayer {
        ClassifyLayer::new()
    }
}

impl<S, Req> Service<Req> for Classify<S>
where
    S: Service<Req>,
    S::Response: ToolResult,
    S::Error: Into<BoxError>,
{
    type Response = S::Response;
    type Error = Failure;
    type Future = ResponseFuture<S::Future>;

    #[inline]
    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Failure>> {
        let readied = catch_silenced(|| {
            let named = |error: S::Error| error::classify(error.into(), &self.rules);
            self.inner.poll_ready(cx).map_err(named)
        });
        readied
            .unwrap_or_else(|failure| Poll::Ready(Err(failure)))
            // Nothing was called.
            .map_err(|failure| failure.not_sent().leaving(self.rules.is_inside()))
    }

    #[inline]
    fn call(&mut self, call: Req) -> Self::Future {
        let called = catch_silenced(|| {
            let _closed = ledger::close();
            self.inner.call(call)
        });
        match called {
            Ok(answer) => ResponseFuture::new(answer, self.rules.clone()),
            Err(failure) => ResponseFuture::failed(failure, self.rules.is_inside()),
        }
    }
}
