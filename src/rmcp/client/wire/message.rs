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
    let id = members.remove("id").and_then(|id| canonical(&id));
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

fn typed(members: Map<String, Value>) -> Result<ServerJsonRpcMessage, String> {
    let message = serde_json::from_value(Value::Object(members));
    message.map_err(|error| format!("it is not an mcp message: {error}"))
}
