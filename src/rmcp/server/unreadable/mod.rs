//! Requests that rmcp cannot read.
//!
//! rmcp passes a request with a known method and invalid parameters to the handler as a custom
//! request, and answers "method not found" by default. Here such a request gets `-32602` and the
//! reason. A call also goes through the stack, so that it leaves its line.

mod methods;
mod problem;

use super::{Resilient, ServerAnswer, ServerCall, wire::Refused};
use crate::{
    failure::BoxError,
    rmcp::{Answer, Request},
    serve::Unreadable,
};
use ::rmcp::{
    ErrorData, RoleServer, ServerHandler,
    model::{
        CallToolRequestParams, CallToolResponse, ClientJsonRpcMessage, ClientRequest,
        CustomRequest, CustomResult, ErrorCode, GetMeta, GetPromptRequestParams, GetPromptResponse,
        ReadResourceRequestParams, ReadResourceResponse, RequestId, ServerCapabilities,
    },
    service::RequestContext,
};
use tower::Service;

impl<H, S> Resilient<H, S>
where
    H: ServerHandler,
    S: Service<ServerCall, Response = ServerAnswer> + Clone,
    S::Error: Into<BoxError>,
{
    /// Answers a request that rmcp could not read. Returns a request with a method of the handler's.
    pub(super) async fn refuse_unreadable(
        &self,
        request: CustomRequest,
        mut context: RequestContext<RoleServer>,
    ) -> Result<Result<CustomResult, ErrorData>, (CustomRequest, RequestContext<RoleServer>)> {
        if let Some(call) = as_call(&request) {
            let Refused { code, problem } =
                context.extensions.remove().unwrap_or_else(|| Refused {
                    code: ErrorCode::INVALID_PARAMS,
                    problem: problem::of_call(&request),
                });
            let arguments = request.params.and_then(|mut params| {
                let arguments = params.get_mut("arguments")?.take();
                (!arguments.is_null()).then_some(arguments)
            });
            let unreadable = Unreadable {
                code: code.0,
                problem,
            };
            let answer = self
                .dispatch_unreadable(call, arguments, unreadable, context)
                .await;
            return Ok(answer.and_then(|answer| to_custom(&answer)));
        }
        // MCP 2026-07-28 does not have these any more: rmcp's answer says so.
        let is_of_old = matches!(
            &*request.method,
            "initialize" | "logging/setLevel" | "resources/subscribe" | "resources/unsubscribe"
        );
        if is_of_old && !has_initialize(&context) {
            return Err((request, context));
        }
        match methods::problem(&request, || self.handler.get_info().capabilities) {
            Some(problem) => Ok(Err(ErrorData::invalid_params(problem, None))),
            None => Err((request, context)),
        }
    }
}

/// The error in the request that begins a session, and its id. rmcp would complain about what the
/// revision 2026-07-28 requires in its place.
pub(super) fn initialize_problem(message: &ClientJsonRpcMessage) -> Option<(RequestId, String)> {
    let ClientJsonRpcMessage::Request(asked) = message else {
        return None;
    };
    let ClientRequest::CustomRequest(request) = &asked.request else {
        return None;
    };
    let version = asked.request.get_meta().protocol_version();
    if request.method != "initialize" || version.is_some_and(|version| !version.has_initialize()) {
        return None;
    }
    let problem = methods::problem(request, ServerCapabilities::default)?;
    Some((asked.id.clone(), problem))
}

/// Whether the request is of a revision that has sessions.
fn has_initialize(context: &RequestContext<RoleServer>) -> bool {
    let version = context.meta.protocol_version();
    version.is_none_or(|version| version.has_initialize())
}

/// The call that was meant, with its name if there is one.
pub(super) fn as_call(request: &CustomRequest) -> Option<Request> {
    let named = |key: &str| {
        let name = request.params.as_ref()?.get(key)?.as_str()?;
        Some(name.to_owned())
    };
    Some(match &*request.method {
        "tools/call" => {
            let name = named("name").unwrap_or_default();
            Request::Tool(CallToolRequestParams::new(name))
        }
        "resources/read" => {
            let uri = named("uri").unwrap_or_default();
            Request::Resource(ReadResourceRequestParams::new(uri))
        }
        "prompts/get" => {
            let name = named("name").unwrap_or_default();
            Request::Prompt(GetPromptRequestParams::new(name))
        }
        _ => return None,
    })
}

/// A layer of the user's may have made a result of the failure.
fn to_custom(answer: &Answer) -> Result<CustomResult, ErrorData> {
    let written = match answer {
        Answer::Tool(CallToolResponse::Complete(result)) => serde_json::to_value(result),
        Answer::Resource(ReadResourceResponse::Complete(result)) => serde_json::to_value(result),
        Answer::Prompt(GetPromptResponse::Complete(result)) => serde_json::to_value(result),
        _ => {
            let error = "the stack answered an unreadable request with an interim result";
            return Err(ErrorData::internal_error(error, None));
        }
    };
    match written {
        Ok(result) => Ok(CustomResult::new(result)),
        Err(_) => Err(ErrorData::internal_error(
            "the stack's answer cannot be written as JSON",
            None,
        )),
    }
}
