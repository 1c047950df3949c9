use super::{CallLogLayer, ResponseFuture, Sink, entry::Entry, layer::Config};
use crate::{
    call::{ToolCall, ToolResult},
    failure::{BoxError, Failure},
    ledger::Ledger,
    text,
};
use std::{
    sync::Arc,
    task::{Context, Poll},
};
use tower::{Layer, Service};

/// Leaves one line for every call.
///
/// See the [module page](super).
#[derive(Clone, Debug)]
pub struct CallLog<S> {
    pub(super) inner: S,
    pub(super) config: Option<Arc<Config>>,
}

impl<S> CallLog<S> {
    /// Writes a line for every call of a service.
    #[must_use]
    pub fn new(inner: S, sink: impl Sink + 'static) -> Self {
        CallLogLayer::new(sink).layer(inner)
    }

    inner_accessors!(inner);
}

impl CallLog<()> {
    /// The layer that writes the lines.
    pub fn layer(sink: impl Sink + 'static) -> CallLogLayer {
        CallLogLayer::new(sink)
    }
}

impl<S, Req> Service<Req> for CallLog<S>
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
        let Some(config) = &self.config else {
            return ResponseFuture::silent(self.inner.call(call));
        };
        let ledger = Ledger::new();
        // Open before the call, so that a panic in the call leaves a line too.
        let entry = Entry::open(&call, ledger.clone(), Arc::clone(config));
        if let Some(progress) = call.progress() {
            progress.carry(&ledger);
        }
        let called = || entry.in_span(|| ledger.keep(|| self.inner.call(call)));
        let answer = text::within(entry.redaction(), called);
        ResponseFuture::logged(answer, entry)
    }
}
