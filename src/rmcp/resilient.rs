use super::{
    HandlerService, Readied, ServerAnswer, ServerCall, ServerRequest, error_data, running::Running,
};
use crate::{
    call_log::{CallLog, Sink},
    failure::{BoxError, Failure},
    fatal::FatalHandle,
    preset::{Guarded, ResilienceLayer},
};
use ::rmcp::{ErrorData, RoleServer, ServerHandler, model::Tool, service::RequestContext};
use std::{fmt, future::poll_fn, pin::pin, sync::Arc, task::Poll, time::Duration};
use tower::{Layer, Service, ServiceExt, timeout::Timeout};

/// How long the last lines of the log may take.
const LAST_FLUSH: Duration = Duration::from_secs(1);

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
    log: Option<Arc<dyn Sink>>,
    running: Running,
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
            running: Running::default(),
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
            running: Running::default(),
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

    /// Ends the serving of calls: those that run may still end, for at most so long, and are then
    /// cut off, and answered with the cause. Then waits up to a second for the preset's log to be
    /// written. For the end of a server; [`run`](Self::run) does it by itself.
    pub async fn drain(&self, at_most: Duration) {
        self.running.end(at_most).await;
        self.flush();
    }

    pub(super) fn flush(&self) {
        if let Some(log) = &self.log {
            log.flush(LAST_FLUSH);
        }
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
        let _counted = self.running.one_more();
        let cancellation = context.ct.clone();
        let call = ServerCall::new(request, tool, context);
        let mut answer = pin!(self.stack.clone().oneshot(call));
        let mut cancelled = pin!(cancellation.cancelled());
        let mut cut_off = pin!(self.running.cut_off());
        // The answer first: one that is there is not thrown away.
        let outcome = poll_fn(|cx| match answer.as_mut().poll(cx) {
            Poll::Ready(outcome) => Poll::Ready(Some(outcome)),
            Poll::Pending => {
                let is_cancelled = cancelled.as_mut().poll(cx).is_ready();
                if is_cancelled || cut_off.as_mut().poll(cx).is_ready() {
                    return Poll::Ready(None);
                }
                Poll::Pending
            }
        })
        .await;
        match outcome {
            Some(Ok(answer)) => Ok(answer),
            Some(Err(error)) => Err(error_data::answer(&Failure::from_any(error))),
            None => Err(error_data::answer(&self.cut_off())),
        }
    }

    /// What becomes of a call that is cut off. If the client gave it up, rmcp throws this away.
    fn cut_off(&self) -> Failure {
        match self.fatal.as_ref().and_then(FatalHandle::cause) {
            Some(cause) => Failure::from(&cause),
            None => Failure::cancelled(""),
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
            running: self.running.clone(),
        }
    }
}

impl<H, S> fmt::Debug for Resilient<H, S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Resilient").finish_non_exhaustive()
    }
}
