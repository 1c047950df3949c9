//! Questions that a server asks instead of answering a call (`input_required`).
//!
//! rmcp handles such rounds itself only if nothing is between it and the call. Here each round is a
//! separate call through the layers, so this asks the handler as rmcp does.

use crate::failure::Failure;
use ::rmcp::{
    ErrorData, Peer, RoleClient, Service,
    model::{
        ClientResult, GetExtensions, GetMeta, InputRequest, InputRequiredResult, InputResponses,
        NumberOrString, ServerRequest,
    },
    service::RequestContext,
};
use serde_json::Value;
use std::{mem, sync::Arc, time::Duration};
use tokio::time;

/// The parameters of the next round.
pub(super) struct Input {
    pub(super) responses: Option<InputResponses>,
    pub(super) state: Option<String>,
}

/// Asks a handler for all required input. If the server requires none, it wants a pause, which grows
/// each time.
pub(super) async fn give<S: Service<RoleClient>>(
    handler: &S,
    peer: &Peer<RoleClient>,
    required: InputRequiredResult,
    in_vain: u32,
) -> Result<Input, Failure> {
    let asked = required.input_requests.unwrap_or_default();
    if asked.is_empty() && required.request_state.is_none() {
        return Err(Failure::invalid_output(
            "the server asks for input, and does not say which",
        ));
    }
    if asked.is_empty() {
        time::sleep(Duration::from_millis(50 << in_vain.min(3))).await;
    }
    let mut responses = InputResponses::new();
    for (key, request) in asked {
        let response = one(handler, peer, &key, request).await;
        let response = response.map_err(|error| {
            Failure::cancelled("the handler did not give the input that the server asked for")
                .because(error)
        })?;
        responses.insert(key, response);
    }
    Ok(Input {
        responses: (!responses.is_empty()).then_some(responses),
        state: required.request_state,
    })
}

async fn one<S: Service<RoleClient>>(
    handler: &S,
    peer: &Peer<RoleClient>,
    key: &str,
    request: InputRequest,
) -> Result<Value, ErrorData> {
    let id = NumberOrString::String(Arc::from(key));
    let mut context = RequestContext::new(id, peer.clone());
    let mut request = match request {
        InputRequest::CreateMessage(request) => ServerRequest::CreateMessageRequest(request),
        InputRequest::Elicitation(request) => ServerRequest::ElicitRequest(request),
        InputRequest::ListRoots(request) => ServerRequest::ListRootsRequest(request),
        _ => {
            return Err(ErrorData::invalid_request(
                "it asks for something unknown",
                None,
            ));
        }
    };
    context.meta = mem::take(request.get_meta_mut());
    context.extensions = mem::take(request.extensions_mut());
    let response = match handler.handle_request(request, context).await? {
        ClientResult::CreateMessageResult(result) => serde_json::to_value(result),
        ClientResult::ElicitResult(result) => serde_json::to_value(result),
        ClientResult::ListRootsResult(result) => serde_json::to_value(result),
        _ => {
            return Err(ErrorData::internal_error(
                "the handler gave another kind of answer",
                None,
            ));
        }
    };
    response.map_err(|error| ErrorData::internal_error(error.to_string(), None))
}
