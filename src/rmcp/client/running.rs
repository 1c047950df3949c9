//! A running service of rmcp: its end, and the questions that a server asks instead of answering a call
//! (`input_required`).
//!
//! rmcp handles such rounds itself only if nothing is between it and the call. Here each round is a
//! separate call through the layers, so this asks the handler as rmcp does.

use crate::failure::Failure;
use ::rmcp::{
    ClientHandler, ErrorData, Peer, RoleClient, Service,
    model::{
        ClientResult, GetExtensions, GetMeta, InputRequest, InputRequiredResult, InputResponses,
        NumberOrString, ServerRequest,
    },
    service::{RequestContext, RunningService},
};
use serde_json::Value;
use std::{mem, pin::Pin, sync::Arc, time::Duration};
use tokio::time;

/// How long an unused connection may take to notify the server.
const GOODBYE: Duration = Duration::from_secs(3);

type Closing = Pin<Box<dyn Future<Output = ()> + Send>>;

/// A running service of rmcp with any handler.
pub(super) trait Running: Send + Sync {
    fn close(self: Box<Self>) -> Closing;

    /// Asks the handler for the input that a server requires.
    fn give(&self, required: InputRequiredResult, empty_rounds: u32) -> Giving<'_>;
}

type Giving<'a> = Pin<Box<dyn Future<Output = Result<Input, Failure>> + Send + 'a>>;

impl<H: ClientHandler> Running for RunningService<RoleClient, H> {
    fn close(mut self: Box<Self>) -> Closing {
        Box::pin(async move {
            // It is gone in every case.
            let _ = self.close_with_timeout(GOODBYE).await;
        })
    }

    fn give(&self, required: InputRequiredResult, empty_rounds: u32) -> Giving<'_> {
        Box::pin(give(self.service(), self.peer(), required, empty_rounds))
    }
}

/// The parameters of the next round.
pub(super) struct Input {
    pub(super) responses: Option<InputResponses>,
    pub(super) state: Option<String>,
}

/// Asks a handler for all required input. If the server requires none, it wants a pause, which grows
/// each time.
async fn give<S: Service<RoleClient>>(
    handler: &S,
    peer: &Peer<RoleClient>,
    required: InputRequiredResult,
    empty_rounds: u32,
) -> Result<Input, Failure> {
    let asked = required.input_requests.unwrap_or_default();
    if asked.is_empty() && required.request_state.is_none() {
        return Err(Failure::invalid_output(
            "the server asks for input, and does not say which",
        ));
    }
    if asked.is_empty() {
        time::sleep(Duration::from_millis(50 << empty_rounds.min(3))).await;
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
