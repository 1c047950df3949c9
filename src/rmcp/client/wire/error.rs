use super::asked::number;
use ::rmcp::{ErrorData, model::ErrorCode};
use serde_json::{Value, json};

/// Reads the error of an answer, in any form.
pub(in crate::rmcp::client) fn read(error: Value) -> ErrorData {
    let Value::Object(mut error) = error else {
        let code = code(&error).unwrap_or_default();
        return ErrorData::new(ErrorCode(code), text(error), None);
    };
    let said = error.remove("code").filter(|code| !code.is_null());
    let data = error.remove("data").filter(|data| !data.is_null());
    let message = error.remove("message").filter(|text| !text.is_null());
    let message = match message {
        Some(message) => text(message),
        // The server may say it in members of its own.
        None if error.values().any(|value| !is_blank(value)) => Value::Object(error).to_string(),
        None => "the server gave no message".to_owned(),
    };
    let known = said.as_ref().and_then(code);
    // A word is the server's own code, and is read from the data.
    let data = match (data, known, said) {
        (None, None, Some(word)) => Some(json!({ "code": word })),
        (data, ..) => data,
    };
    ErrorData::new(ErrorCode(known.unwrap_or_default()), message, data)
}

/// Whether a member says nothing, next to one that does.
pub(super) fn is_blank(value: &Value) -> bool {
    match value {
        Value::Null | Value::Bool(false) => true,
        Value::Number(number) => number.as_f64() == Some(0.0),
        Value::String(text) => matches!(text.trim(), "" | "null"),
        Value::Array(items) => items.is_empty(),
        Value::Object(members) => members.is_empty(),
        Value::Bool(true) => false,
    }
}

/// The same for an error, which has members of its own.
pub(super) fn says_nothing(error: &Value) -> bool {
    match error {
        Value::Object(members) => members.values().all(is_blank),
        other => is_blank(other),
    }
}

fn code(said: &Value) -> Option<i32> {
    i32::try_from(number(said)?).ok()
}

fn text(said: Value) -> String {
    match said {
        Value::String(text) => text,
        other => other.to_string(),
    }
}
