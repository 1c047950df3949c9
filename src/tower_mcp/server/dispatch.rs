use super::{
    ResilientLayer, ServerAnswer, ServerCall, error::json_rpc_error, learned, progress::Reporting,
};
use crate::{call, failure::BoxError, serve::HandlerAnswer};
use ::tower_mcp::{JsonRpcError, protocol::McpResponse};
use std::{future::poll_fn, pin::pin};
use tower::Service;

/// Sends a request through the stack, until the client gives it up.
pub(super) async fn dispatch<S>(
    layer: &ResilientLayer<S>,
    call: ServerCall,
    reporting: Option<&Reporting>,
) -> Result<McpResponse, JsonRpcError>
where
    S: Service<ServerCall, Response = ServerAnswer> + Clone,
    S::Error: Into<BoxError>,
{
    let _counted = layer.life.running.one_more();
    let keyed = layer.life.running.keyed();
    let incoming = &layer.incoming;
    let came = incoming.take_request(call.request(), keyed.is_some());
    let hints = learned::hints(&layer.learned, call.request(), call.router()).await;
    let mut call = call.known(hints);
    let keyed = keyed.map(|keyed| {
        let of_meta = came.and_then(|came| came.key());
        (keyed, of_meta, call::Cancellation::new())
    });
    let explicit = keyed.map(|(keyed, of_meta, explicit)| {
        call = call.clone().remembered(keyed, of_meta, explicit.clone());
        explicit
    });
    let shared = call.shared();
    let cancellation = shared.cancellation();
    let mut cancelled = pin!(cancellation.token().cancelled());
    // Boxed: many clients give no token.
    let mut reporting = reporting.map(|call| (call, Box::pin(call.beat())));
    let given_up = poll_fn(|cx| {
        cancellation.wait();
        if let Some((call, beating)) = &mut reporting {
            call.pass();
            let _never = beating.as_mut().poll(cx);
        }
        let polled = cancelled.as_mut().poll(cx);
        if let (true, Some(explicit)) = (polled.is_ready(), &explicit) {
            // A run stops by it that would go on without its caller.
            explicit.cancel();
        }
        polled
    });
    // If the client has cancelled, tower-mcp sends the error only if no attempt ran.
    let answer = layer.life.send(layer.stack.clone(), call, given_up).await;
    if let Some((call, _)) = reporting {
        // Before the answer.
        call.pass();
    }
    answer
        .map(HandlerAnswer::into_inner)
        .map_err(json_rpc_error)
}
