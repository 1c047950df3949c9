use super::{
    ResilientLayer, ServerAnswer, ServerCall, cancellation::Cancellation, error::json_rpc_error,
    learned,
};
use crate::{
    call,
    failure::{BoxError, Class, Failure},
    ledger,
    serve::{self, Net, thrown},
};
use ::tower_mcp::{JsonRpcError, McpRouter, RouterRequest, protocol::McpResponse};
use std::{
    future::{poll_fn, ready},
    pin::pin,
    sync::Arc,
};
use tower::{Service, ServiceExt};

/// A request on its way into the stack.
pub(super) struct Dispatch<S> {
    request: RouterRequest,
    router: McpRouter,
    layer: ResilientLayer<S>,
}

impl<S> Dispatch<S>
where
    S: Service<ServerCall, Response = ServerAnswer> + Clone,
    S::Error: Into<BoxError>,
{
    pub(super) fn new(request: RouterRequest, router: McpRouter, layer: ResilientLayer<S>) -> Self {
        Self {
            request,
            router,
            layer,
        }
    }

    /// Sends the request through the stack, until the client gives it up.
    pub(super) async fn run(self) -> Result<McpResponse, JsonRpcError> {
        let layer = self.layer;
        let _counted = layer.life.running.one_more();
        let hints = learned::hints(&layer.learned, &self.request, &self.router).await;
        let cancellation = Arc::new(Cancellation::of(&self.request, &self.router));
        let token = cancellation.token();
        let waiting = Arc::clone(&cancellation);
        let keyed = layer.life.running.keyed().map(|keyed| {
            let of_meta = layer.keys.take(&self.request.id);
            (keyed, of_meta, call::Cancellation::new())
        });
        let mut call = ServerCall::new(self.request, self.router, hints, cancellation);
        let explicit = keyed.map(|(keyed, of_meta, explicit)| {
            call = call.clone().remembered(keyed, of_meta, explicit.clone());
            explicit
        });
        let mut answer = Net::under(layer.stack.clone().oneshot(call));
        let mut outcome = {
            let mut answering = pin!(poll_fn(|cx| {
                let polled = pin!(&mut answer).poll(cx);
                if polled.is_pending() {
                    waiting.wait();
                }
                polled
            }));
            // The answer first: an answer that is ready is not dropped.
            tokio::select! {
                biased;
                outcome = &mut answering => Some(outcome),
                () = token.cancelled() => {
                    // A run stops by it that would go on without its caller.
                    if let Some(explicit) = explicit {
                        explicit.cancel();
                    }
                    // tower-mcp sends it only if no attempt ran.
                    return Err(json_rpc_error(thrown::answer(&Failure::cancelled(""))));
                }
                () = layer.life.running.cut_off() => None,
            }
        };
        if outcome.is_none() {
            // A running attempt is cut off where it runs, and answers at once.
            outcome = tokio::select! {
                biased;
                outcome = &mut answer => Some(outcome),
                () = ready(()) => None,
            };
        }
        match outcome {
            Some(Ok(Ok(answer))) => Ok(answer.into_inner()),
            Some(Ok(Err(error))) => Err(layer.refuse(&Failure::from_any(error))),
            Some(Err(panic)) => Err(json_rpc_error(thrown::report_panic(&panic))),
            // In a wait or a queue.
            None => {
                ledger::drop_for(serve::shut_down(), answer);
                Err(layer.cut_off())
            }
        }
    }
}

impl<S> ResilientLayer<S> {
    /// The error for the host. A failure that is fatal to any stack here is fatal to the server.
    fn refuse(&self, failure: &Failure) -> JsonRpcError {
        if failure.class() == Class::Fatal {
            self.life.fatal.watch(failure);
        }
        json_rpc_error(thrown::answer(failure))
    }

    fn cut_off(&self) -> JsonRpcError {
        match self.life.fatal.cause() {
            Some(cause) => json_rpc_error(thrown::answer(&Failure::from(cause))),
            None => JsonRpcError::internal_error("the server is shutting down"),
        }
    }
}
