use crate::{failure::first, serve::without_values};
use ::rmcp::model::{
    CallToolRequestParams, CustomRequest, GetPromptRequestParams, JsonObject,
    ReadResourceRequestParams,
};
use serde::de::DeserializeOwned;
use serde_json::{Error, Value};

/// The longest part of serde's message that a client gets.
const WORDS: usize = 200;

/// The error in the parameters of a call. It names fields and types and no values, since the text
/// goes to the log too.
pub(super) fn of_call(request: &CustomRequest) -> String {
    let problem = match &*request.method {
        "tools/call" => of::<CallToolRequestParams>("name", request),
        "prompts/get" => of::<GetPromptRequestParams>("name", request),
        _ => of::<ReadResourceRequestParams>("uri", request),
    };
    format!("{}: {problem}", request.method)
}

/// The error in the parameters of any method. It names fields and types and no values, since rmcp
/// logs the answer.
pub(super) fn in_words(method: &str, error: &Error) -> String {
    let error = without_values(&error.to_string());
    let shown = first(&error, WORDS);
    let mark = if shown.len() < error.len() { "…" } else { "" };
    format!("{method}: the parameters cannot be read: {shown}{mark}")
}

fn of<P: DeserializeOwned>(subject: &str, request: &CustomRequest) -> String {
    let params = match &request.params {
        None | Some(Value::Null) => return "the parameters are missing".to_owned(),
        Some(Value::Object(params)) => params,
        Some(other) => return format!("the parameters must be an object, not {}", kind(other)),
    };
    match params.get(subject) {
        None => return format!("`{subject}` is missing"),
        Some(Value::String(_)) => {}
        Some(other) => return format!("`{subject}` must be a string, not {}", kind(other)),
    }
    match params.get("arguments") {
        None | Some(Value::Null | Value::Object(_)) => {}
        Some(other) => return format!("`arguments` must be an object, not {}", of_text(other)),
    }
    match field_in_the_way::<P>(params) {
        Some((name, value)) => format!("`{name}` cannot be read: it is {}", kind(value)),
        None => "the parameters cannot be read".to_owned(),
    }
}

/// The field without which the rest could be read.
fn field_in_the_way<P: DeserializeOwned>(params: &JsonObject) -> Option<(&str, &Value)> {
    let is_in_the_way = |name: &String| {
        let mut rest = params.clone();
        rest.remove(name);
        serde_json::from_value::<P>(Value::Object(rest)).is_ok()
    };
    let (name, value) = params.iter().find(|(name, _)| is_in_the_way(name))?;
    Some((name, value))
}

fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "an array",
        Value::Object(_) => "an object",
    }
}

/// The same. For a string, also whether it holds the expected object.
fn of_text(value: &Value) -> &'static str {
    match value {
        Value::String(text) if serde_json::from_str::<JsonObject>(text).is_ok() => {
            "a string; the string holds a JSON object: send that object itself"
        }
        other => kind(other),
    }
}
