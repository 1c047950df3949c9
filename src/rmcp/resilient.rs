use super::{HandlerService, Readied, ServerAnswer, ServerCall, ServerRequest, error_data};
use crate::{
    call_log::{CallLog, Sink},
    failure::{BoxError, Failure},
    fatal::FatalHandle,
    preset::{Guarded, ResilienceLayer},
};
use ::rmcp::{ErrorData, RoleServer, ServerHandler, model::Tool, service::RequestContext};
use std::{fmt, future::poll_fn, pin::pin, sync::Arc, task::Poll};
use tower::{Layer, Service, ServiceExt, timeout::Timeout};

/// The preset around a handler.
pub type PresetStack<H> = CallLog<Readied<Guarded<Timeout<HandlerService<H>>>>>;

/// A handler in a stack, and a [`ServerHandler`] itself.
///
/// See the [module page](super) for what becomes of which failure, and an example. Clones share
/// the handler and the state of the stack.
pub struct Resilient<H, S = PresetStack<H>> {
    pub(super) handler: Arc<H>,
    pub(super) stack: S,
    pub(super) fatal: Option<FatalHandle>,
    pub(super) log: Option<Arc<dyn Sink>>,
}

impl<H: ServerHandler> Resilient<H> {
    /// Wraps a handler in the [preset](crate::preset) with its defaults: one log line a call on
    /// stderr.
    #[must_use]
    pub fn new(handler: H) -> Self {
        Self::with_preset(handler, &ResilienceLayer::new())
    }

    /// Wraps a handler in the preset with settings of yours.
    #[must_use]
    pub fn with_preset(handler: H, preset: &ResilienceLayer) -> Self {
        let handler = Arc::new(handler);
        let service = HandlerService::new(Arc::clone(&handler));
        // The log stands outside of the readiness: a call that a shut stack refuses is a call too.
        let stack = preset
            .log()
            .layer(Readied::new(preset.layer_within(service)));
        Self {
            handler,
            stack,
            fatal: Some(preset.fatal_handle()),
            log: preset.log().sink(),
        }
    }
}

impl<H: ServerHandler, S> Resilient<H, S> {
    /// Wraps a handler in a stack of your own. A call that finds the stack not ready, or shut,
    /// never enters it: it is answered with the error, and only a layer outside of the stack
    /// would see it.
    #[must_use]
    pub fn with_layer<L>(handler: H, layer: &L) -> Self
    where
        L: Layer<HandlerService<H>, Service = S>,
    {
        let handler = Arc::new(handler);
        let service = HandlerService::new(Arc::clone(&handler));
        Self {
            stack: layer.layer(service),
            handler,
            fatal: None,
            log: None,
        }
    }

    /// Lets [`run`](Self::run) end when this handle's stack is shut; the preset's does so by
    /// itself.
    #[must_use]
    pub fn ends_with(mut self, fatal: FatalHandle) -> Self {
        self.fatal = Some(fatal);
        self
    }

    /// The handler.
    #[must_use]
    pub fn handler(&self) -> &H {
        &self.handler
    }

    /// What to wait on for the first fatal failure.
    #[must_use]
    pub fn fatal_handle(&self) -> Option<&FatalHandle> {
        self.fatal.as_ref()
    }
}

impl<H, S> Resilient<H, S>
where
    H: ServerHandler,
    S: Service<ServerCall, Response = ServerAnswer> + Clone,
    S::Error: Into<BoxError>,
{
    /// Sends a request through the stack, unless the client gives it up.
    pub(super) async fn dispatch(
        &self,
        request: ServerRequest,
        tool: Option<&Tool>,
        context: RequestContext<RoleServer>,
    ) -> Result<ServerAnswer, ErrorData> {
        let cancellation = context.ct.clone();
        let call = ServerCall::new(request, tool, context);
        let mut cancelled = pin!(cancellation.cancelled());
        let mut answer = pin!(self.stack.clone().oneshot(call));
        // The answer first: one that is there is not thrown away.
        let outcome = poll_fn(|cx| match answer.as_mut().poll(cx) {
            Poll::Ready(outcome) => Poll::Ready(Some(outcome)),
            Poll::Pending => cancelled.as_mut().poll(cx).map(|()| None),
        })
        .await;
        match outcome {
            Some(Ok(answer)) => Ok(answer),
            Some(Err(error)) => Err(error_data::answer(&Failure::from_any(error))),
            // rmcp throws this away: nobody waits for it.
            None => Err(error_data::answer(&Failure::cancelled(""))),
        }
    }
}

impl<H, S: Clone> Clone for Resilient<H, S> {
    fn clone(&self) -> Self {
        Self {
            handler: Arc::clone(&self.handler),
            stack: self.stack.clone(),
            fatal: self.fatal.clone(),
            log: self.log.clone(),
        }
    }
}

impl<H, S> fmt::Debug for Resilient<H, S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Resilient").finish_non_exhaustive()
    }
}
