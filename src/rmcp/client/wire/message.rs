use super::{asked::canonical, refused};
use ::rmcp::model::ServerJsonRpcMessage;
use serde_json::{Map, Value, json};

/// Reads a request or a notification of the server. An unreadable request becomes one to
/// [refuse](super::refused).
///
/// # Errors
///
/// Why it is neither.
pub(super) fn read(text: &str) -> Result<ServerJsonRpcMessage, String> {
    let mut members: Map<String, Value> =
        serde_json::from_str(text).map_err(|error| format!("it is not json: {error}"))?;
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
        Some(id) if !has_params => Ok(refused::request(id, "`params` is not an object")),
        Some(id) => {
            members.insert("id".to_owned(), id.clone().into_json_value());
            Ok(typed(members).unwrap_or_else(|reason| refused::request(id, &reason)))
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
