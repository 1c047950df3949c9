use super::{asked::canonical, outline::Member, unreadable::mark};
use crate::{failure::escaped, rmcp::wire::REASON};
use ::rmcp::{
    ErrorData,
    model::{
        ClientJsonRpcMessage, CustomRequest, JsonRpcMessage, RequestId, ServerJsonRpcMessage,
        ServerRequest,
    },
};
use serde_json::{Map, Value, json};

/// Reads a request or a notification of the server. An unreadable request becomes one to
/// [refuse](refusal).
///
/// # Errors
///
/// Why it is neither.
pub(super) fn read(text: &str) -> Result<ServerJsonRpcMessage, String> {
    let Value::Object(mut members) = Member::read(text)?.value else {
        return Err("it is not an object".to_owned());
    };
    members.retain(|_, value| !value.is_null());
    members.insert("jsonrpc".to_owned(), json!("2.0"));
    let is_notification = mend_notification(&mut members);
    let id = members.remove("id").filter(|_| !is_notification);
    let id = id.and_then(|id| canonical(&id));
    let has_params = members.get("params").is_none_or(Value::is_object);
    match id {
        None => {
            if !has_params {
                members.remove("params");
            }
            typed(members)
        }
        Some(id) if !has_params => Ok(refused(id, "`params` is not an object")),
        Some(id) => {
            members.insert("id".to_owned(), id.clone().into_json_value());
            Ok(typed(members).unwrap_or_else(|reason| refused(id, &reason)))
        }
    }
}

/// The beginning of the names of all notifications.
const NOTIFICATIONS: &str = "notifications/";
const TOOLS_CHANGED: &str = "notifications/tools/list_changed";

/// Mends what would hide a notification from rmcp, and returns whether it is one. Hints of a list that
/// has changed must not count, however the server announces it.
fn mend_notification(members: &mut Map<String, Value>) -> bool {
    let Some(Value::String(method)) = members.get_mut("method") else {
        return false;
    };
    if method != TOOLS_CHANGED && is_tools_changed(method) {
        TOOLS_CHANGED.clone_into(method);
    }
    if !method.starts_with(NOTIFICATIONS) {
        return false;
    }
    if let Some(Value::Object(params)) = members.get_mut("params")
        && params.get("_meta").is_some_and(|meta| !meta.is_object())
    {
        params.remove("_meta");
    }
    true
}

/// Whether a name means that the tools have changed: `tools/listChanged`.
fn is_tools_changed(name: &str) -> bool {
    let is_letter = |byte: &u8| byte.is_ascii_alphabetic();
    let letters = name
        .bytes()
        .filter(is_letter)
        .map(|c| c.to_ascii_lowercase());
    let is_it = |known: &str| letters.clone().eq(known.bytes());
    is_it("notificationstoolslistchanged") || is_it("toolslistchanged")
}

fn typed(members: Map<String, Value>) -> Result<ServerJsonRpcMessage, String> {
    let message = serde_json::from_value(Value::Object(members));
    message.map_err(|error| format!("it is not an mcp message: {error}"))
}

/// Stands for an unreadable request of the server, until [`refusal`] answers it. No handler gets it.
fn refused(id: RequestId, reason: &str) -> ServerJsonRpcMessage {
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
