use super::{Attempt, ServerAnswer, ServerCall, ServerRequest, thrown};
use crate::failure::BoxError;
use ::rmcp::ServerHandler;
use std::{
    fmt,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
};
use tower::Service;

/// A handler as a service: the innermost of the stack that [`Resilient`](super::Resilient) makes.
///
/// Always ready. Its future runs the handler where it is polled, and spawns nothing: rmcp ties a
/// request that the handler makes of the client to the task of the call.
pub struct HandlerService<H> {
    handler: Arc<H>,
}

impl<H> HandlerService<H> {
    pub(super) fn new(handler: Arc<H>) -> Self {
        Self { handler }
    }
}

impl<H: ServerHandler> Service<ServerCall> for HandlerService<H> {
    type Response = ServerAnswer;
    type Error = BoxError;
    type Future = Pin<Box<dyn Future<Output = Result<ServerAnswer, BoxError>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, call: ServerCall) -> Self::Future {
        let handler = Arc::clone(&self.handler);
        Box::pin(thrown::catch(async move {
            let attempt = Attempt::new(call.begin_attempt());
            let (request, mut context) = call.into_parts();
            context.extensions.insert(attempt);
            // Cancelled with the attempt, however it ends: for what the handler may have spawned.
            context.ct = context.ct.child_token();
            let _ended = context.ct.clone().drop_guard();
            match request {
                ServerRequest::Tool(params) => {
                    let answer = handler.call_tool(params, context).await?;
                    Ok(ServerAnswer::Tool(answer))
                }
                ServerRequest::Resource(params) => {
                    let answer = handler.read_resource(params, context).await?;
                    Ok(ServerAnswer::Resource(answer))
                }
                ServerRequest::Prompt(params) => {
                    let answer = handler.get_prompt(params, context).await?;
                    Ok(ServerAnswer::Prompt(answer))
                }
            }
        }))
    }
}

impl<H> Clone for HandlerService<H> {
    fn clone(&self) -> Self {
        Self::new(Arc::clone(&self.handler))
    }
}

impl<H> fmt::Debug for HandlerService<H> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HandlerService").finish_non_exhaustive()
    }
}
