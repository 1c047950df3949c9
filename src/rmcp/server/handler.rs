use super::{Attempt, HandlerAnswer, ServerCall, error_data::catch};
use crate::{
    call::{Ticker, ToolCall},
    failure::BoxError,
    rmcp::{Answer, Request},
    serve::{self, Running},
};
use ::rmcp::ServerHandler;
use std::{
    mem,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
};
use tower::Service;

/// The answer of a handler to a [`ServerCall`], on its way up.
pub type ServerAnswer = HandlerAnswer<Answer>;

impl From<ServerAnswer> for Answer {
    fn from(answer: ServerAnswer) -> Self {
        answer.into_inner()
    }
}

/// A handler as a service: the innermost of the stack that [`Resilient`](super::Resilient) makes.
///
/// An error of the handler is wrapped, so that no layer takes it for an error of the service below:
/// look for its type in the chain of sources. A [`Failure`](crate::Failure) is not wrapped, and keeps
/// only the claims of its author. The envelope of a flagged result makes no claims.
///
/// Always ready. Its future runs the handler where it is polled, and spawns nothing, because rmcp
/// ties a handler's request to the client to the task of the call. At the end of the server, it
/// refuses new calls, and cuts off those that take too long.
pub struct HandlerService<H> {
    handler: Arc<H>,
    running: Running,
}

impl<H> HandlerService<H> {
    pub(super) fn new(handler: Arc<H>, running: Running) -> Self {
        Self { handler, running }
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
        if let Some(refusal) = call.refusal() {
            return Box::pin(async { Err(refusal.into()) });
        }
        let attempt = call.begin_attempt();
        // A later attempt belongs to a call that may still end.
        if attempt == 1 && !self.running.is_serving() {
            return Box::pin(async { Err(serve::refused().into()) });
        }
        let hints = call.hints();
        let (ticker, reported) = call.begin_reports(attempt);
        let handler = Arc::clone(&self.handler);
        let running = self.running.clone();
        Box::pin(async move {
            let answer = catch(answer(&*handler, call, Attempt::new(attempt), ticker));
            let _reported = reported;
            // The answer first: an answer that is ready is not dropped.
            tokio::select! {
                biased;
                answer = answer => answer,
                () = running.cut_off() => Err(serve::cut_off(hints).into()),
            }
        })
    }
}

async fn answer<H: ServerHandler>(
    handler: &H,
    call: ServerCall,
    attempt: Attempt,
    ticker: Ticker,
) -> Result<ServerAnswer, ::rmcp::ErrorData> {
    let key = call.idempotency_key();
    // Its own, if a run goes on without its connection, which cancels the request.
    let goes_on = call.cancellation().is_some() && matches!(key, Some(Ok(_)));
    let (request, mut context) = call.into_parts();
    if let Some(Ok(key)) = key {
        context.extensions.insert(key);
    }
    if goes_on {
        // An explicit cancellation lets the layer drop this future.
        mem::take(&mut context.ct);
    }
    context.extensions.insert(attempt);
    context.extensions.insert(ticker);
    // Cancelled at the end of the attempt, for tasks that the handler spawned.
    context.ct = context.ct.child_token();
    let _ended = context.ct.clone().drop_guard();
    let answer = match request {
        Request::Tool(params) => {
            let answer = handler.call_tool(params, context).await?;
            Answer::Tool(answer)
        }
        Request::Resource(params) => {
            let answer = handler.read_resource(params, context).await?;
            Answer::Resource(answer)
        }
        Request::Prompt(params) => {
            let answer = handler.get_prompt(params, context).await?;
            Answer::Prompt(answer)
        }
    };
    Ok(answer.into())
}

impl<H> Clone for HandlerService<H> {
    fn clone(&self) -> Self {
        Self::new(Arc::clone(&self.handler), self.running.clone())
    }
}

debug_name!(HandlerService<H>);
