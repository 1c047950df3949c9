use super::{ServerAnswer, ServerCall, error::rpc_error, own_words};
use crate::{
    call::ToolCall,
    failure::{BoxError, Returned},
    serve::{self, Running, thrown},
};
use ::tower_mcp::RouterResponse;
use std::{
    convert::Infallible,
    fmt,
    future::Future,
    pin::Pin,
    task::{Context, Poll},
};
use tower::Service;

/// The router as the innermost service of the stack that [`ResilientLayer`](super::ResilientLayer)
/// makes.
///
/// Each call brings its router. An error of a handler is wrapped, so that no layer takes it for an
/// error of the service below: look for its type in the chain of sources. A
/// [`Failure`](crate::Failure) is not wrapped, and keeps only the claims of its author. A JSON-RPC
/// error and the envelope of a flagged result make no claims.
///
/// Always ready. Its future runs the handler where it is polled, and spawns nothing. At the end of
/// the server, it refuses new calls, and cuts off those that take too long.
#[derive(Clone)]
pub struct RouterService {
    running: Running,
}

impl RouterService {
    pub(super) fn new(running: Running) -> Self {
        Self { running }
    }
}

impl Service<ServerCall> for RouterService {
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
        let (hints, shared) = (call.hints(), call.shared());
        let running = self.running.clone();
        let mut router = call.router().clone();
        let (ticker, reported) = call.begin_reports(attempt);
        let response = router.call(call.into_request(attempt, ticker));
        Box::pin(async move {
            let _reported = reported;
            let _running = shared.cancellation().attempt();
            // The answer first: one that is there is not thrown away.
            tokio::select! {
                biased;
                answer = thrown::keeping(answer(response)) => answer,
                () = running.cut_off() => Err(serve::cut_off(hints).into()),
            }
        })
    }
}

async fn answer(
    response: impl Future<Output = Result<RouterResponse, Infallible>>,
) -> Result<ServerAnswer, BoxError> {
    let Ok(response) = response.await;
    let answer = match response.inner {
        Ok(response) => own_words::read(response.into()),
        Err(error) => Err(thrown::exchange(rpc_error(error))),
    };
    answer.map_err(Returned::by_handler)
}

impl fmt::Debug for RouterService {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RouterService").finish_non_exhaustive()
    }
}
