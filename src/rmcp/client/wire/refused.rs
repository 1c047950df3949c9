use super::unreadable::mark;
use crate::{failure::escaped, rmcp::wire::REASON};
use ::rmcp::{
    ErrorData,
    model::{
        ClientJsonRpcMessage, CustomRequest, JsonRpcMessage, RequestId, ServerJsonRpcMessage,
        ServerRequest,
    },
};
use serde_json::Value;

/// Stands for an unreadable request of the server, until [`refusal`] answers it. No handler gets it.
pub(super) fn request(id: RequestId, reason: &str) -> ServerJsonRpcMessage {
    let reason = Value::from(escaped(reason, REASON, &[]));
    let request = CustomRequest::new(mark(), Some(reason));
    ServerJsonRpcMessage::request(ServerRequest::CustomRequest(request), id)
}

/// The answer to an unreadable request. `None` for any other.
pub(in crate::rmcp::client) fn refusal(
    message: &ServerJsonRpcMessage,
) -> Option<ClientJsonRpcMessage> {
    let JsonRpcMessage::Request(asked) = message else {
        return None;
    };
    let ServerRequest::CustomRequest(request) = &asked.request else {
        return None;
    };
    if request.method != mark() {
        return None;
    }
    let reason = request.params.as_ref().and_then(Value::as_str);
    let reason = reason.unwrap_or_default().to_owned();
    let error = ErrorData::invalid_request(reason, None);
    Some(ClientJsonRpcMessage::error(error, Some(asked.id.clone())))
}
