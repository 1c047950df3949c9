use super::{ids::Ids, refused::Refused};
use crate::{
    call::Method,
    failure::escaped,
    rmcp::{
        server::unreadable::initialize_problem,
        wire::{
            Head,
            raw::{self, Members, Twice},
        },
    },
};
use ::rmcp::{
    ErrorData,
    model::{ClientJsonRpcMessage, RequestId},
};
use serde_json::{Value, json};

/// The longest invalid id that is returned, in bytes.
const ID: usize = 256;

/// The longest part of a name in an answer, in bytes.
const NAME: usize = 64;

/// A message of a client.
#[derive(Debug)]
pub(super) enum Found {
    Message(Box<ClientJsonRpcMessage>),
    /// A request to refuse, with this answer.
    Refused(Vec<u8>),
    /// No message, and the reason.
    Nothing(String),
}

/// Reads an object.
pub(super) fn object(text: &str, ids: &mut Ids) -> Found {
    match serde_json::from_str(text) {
        Ok(message) => typed(message, text, ids),
        Err(_) => mended(text, ids),
    }
}

/// Reads what is known about a request or an answer that is not JSON, or too long.
pub(super) fn broken(head: Head, reason: &str, ids: &mut Ids) -> Found {
    if let Some(id) = head.asks {
        let method = head.method.unwrap_or_default();
        let refused = Refused::request(format!("the request cannot be read: {reason}"));
        return refuse(refused, &id.to_string(), &method, None, ids);
    }
    let id = head.answers.and_then(|id| serde_json::from_value(id).ok());
    match id {
        Some(id) => unreadable_answer(id),
        None => Found::Nothing(reason.to_owned()),
    }
}

/// A message that rmcp can read.
pub(super) fn typed(mut message: ClientJsonRpcMessage, text: &str, ids: &mut Ids) -> Found {
    ids.note(&mut message, text);
    let Some((id, problem)) = initialize_problem(&message) else {
        return Found::Message(Box::new(message));
    };
    let written = ids.left(&id).map_or_else(|| text_of(id), String::from);
    Found::Refused(Refused::invalid_params(problem).answer(&written))
}

fn text_of(id: RequestId) -> String {
    id.into_json_value().to_string()
}

/// A message that rmcp cannot read unchanged.
fn mended(text: &str, ids: &mut Ids) -> Found {
    let members = raw::members(text);
    match one_of(&members, text, ids) {
        Ok(found) => found,
        Err((name, Twice)) => {
            let refused = Refused::request(format!("the member `{name}` is there twice"));
            invalid(refused, &members, ids)
        }
    }
}

/// A message that is invalid as a whole.
fn invalid(refused: Refused, members: &Members<'_>, ids: &mut Ids) -> Found {
    let Some(id) = members.first("id") else {
        return Found::Nothing(refused.problem);
    };
    let method = members.first("method").map(serde_json::from_str);
    let method: String = method.and_then(Result::ok).unwrap_or_default();
    refuse(
        refused,
        given_back(id),
        &method,
        members.first("params"),
        ids,
    )
}

fn one_of(
    members: &Members<'_>,
    text: &str,
    ids: &mut Ids,
) -> Result<Found, (&'static str, Twice)> {
    let only = |name| members.only(name).map_err(|twice| (name, twice));
    let (id, method) = (only("id")?, only("method")?);
    let (result, error) = (only("result")?, only("error")?);
    let Some(method) = method else {
        return Ok(match (id, result, error) {
            (Some(id), Some(_), _) | (Some(id), _, Some(_)) => answer(id, result, error),
            (Some(_), None, None) => invalid(Refused::request("`method` is missing"), members, ids),
            (None, ..) => Found::Nothing("it is not a json-rpc message".to_owned()),
        });
    };
    let params = only("params")?;
    let name: Result<String, _> = serde_json::from_str(method);
    let is_null = id.is_none() && members.first("id").is_some();
    let refused = match (&name, id) {
        (Ok(name), None) if !is_null || name.starts_with("notifications/") => {
            return Ok(notification(method, params, text, ids));
        }
        (Ok(name), Some(id)) if matches!(raw::kind(id), "a string" | "a number") => {
            return Ok(request(id, name, params, ids));
        }
        (Ok(_), None) => Refused::request("`id` must not be null"),
        (Ok(_), Some(id)) => {
            let kind = raw::kind(id);
            Refused::request(format!("`id` must be a string or a number, not {kind}"))
        }
        (Err(_), _) if raw::kind(method) == "a string" => {
            Refused::request("`method` cannot be read")
        }
        (Err(_), _) => {
            let kind = raw::kind(method);
            Refused::request(format!("`method` must be a string, not {kind}"))
        }
    };
    Ok(invalid(refused, members, ids))
}

/// A request with a possible id.
fn request(id: &str, method: &str, params: Option<&str>, ids: &mut Ids) -> Found {
    if let Some(params) = params
        && raw::kind(params) != "an object"
    {
        let problem = format!(
            "the parameters must be an object, not {}",
            raw::kind(params)
        );
        return refuse(
            Refused::params(method, &problem),
            id,
            method,
            Some(params),
            ids,
        );
    }
    let meta = params.and_then(|params| raw::members(params).first("_meta"));
    if let Some(meta) = meta
        && !matches!(raw::kind(meta), "an object" | "null")
    {
        let problem = format!("`_meta` must be an object, not {}", raw::kind(meta));
        return refuse(Refused::params(method, &problem), id, method, params, ids);
    }
    let known = ids.came(id);
    let text = message(&[
        ("id", &text_of(known.clone())),
        ("method", &json!(method).to_string()),
        ("params", params.unwrap_or("null")),
    ]);
    match serde_json::from_str(&text) {
        Ok(message) => typed(message, "", ids),
        Err(error) => {
            let problem = unreadable(params.unwrap_or_default(), &error);
            ids.left(&known);
            refuse(Refused::params(method, &problem), id, method, params, ids)
        }
    }
}

/// The reason why an object of parameters cannot be read. serde's messages about syntax have no
/// values.
fn unreadable(params: &str, error: &serde_json::Error) -> String {
    let members = raw::members(params);
    let culprit = members.iter().find_map(|(name, value)| {
        let error = serde_json::from_str::<Value>(value).err()?;
        Some((escaped(name, NAME, &[]), error))
    });
    match culprit {
        Some((name, error)) => format!("`{name}` cannot be read: {}", words(&error)),
        None => format!("the parameters cannot be read: {}", words(error)),
    }
}

fn words(error: &serde_json::Error) -> String {
    if error.is_data() {
        return "a value is not of the form that was expected".to_owned();
    }
    let words = error.to_string();
    let words = words.split(" at line ").next().unwrap_or_default();
    words.to_owned()
}

fn refuse(refused: Refused, id: &str, method: &str, params: Option<&str>, ids: &mut Ids) -> Found {
    if Method::of_name(method).is_none() {
        return Found::Refused(refused.answer(id));
    }
    let mut call = refused.call(ids.came(id), method, params);
    ids.note(&mut call, "");
    Found::Message(Box::new(call))
}

/// A notification, which has no answer.
fn notification(method: &str, params: Option<&str>, text: &str, ids: &mut Ids) -> Found {
    let params = params.filter(|params| raw::kind(params) == "an object");
    let mut members = vec![("method", method)];
    members.extend(params.map(|params| ("params", params)));
    match serde_json::from_str(&message(&members)) {
        Ok(message) => typed(message, text, ids),
        Err(error) => Found::Nothing(format!("it cannot be read: {}", words(&error))),
    }
}

/// The client's answer to a request of the server. An unreadable one ends that request too.
fn answer(id: &str, result: Option<&str>, error: Option<&str>) -> Found {
    let body = match (result, error) {
        (Some(result), None) => Some(("result", result)),
        (None, Some(error)) => Some(("error", error)),
        _ => None,
    };
    let read = body.map(|body| serde_json::from_str(&message(&[("id", id), body])));
    match (read, serde_json::from_str(id)) {
        (Some(Ok(message)), _) => Found::Message(Box::new(message)),
        (_, Ok(id)) => unreadable_answer(id),
        (_, Err(_)) => Found::Nothing("it is an answer whose id cannot be read".to_owned()),
    }
}

fn unreadable_answer(id: RequestId) -> Found {
    let error = ErrorData::internal_error("the client's answer cannot be read", None);
    Found::Message(Box::new(ClientJsonRpcMessage::error(error, Some(id))))
}

fn message(members: &[(&str, &str)]) -> String {
    let mut text = r#"{"jsonrpc":"2.0""#.to_owned();
    for (name, value) in members {
        text.push_str(",\"");
        text.push_str(name);
        text.push_str("\":");
        text.push_str(value);
    }
    text.push('}');
    text
}

/// The unchanged id, unless it is long and of an invalid type.
fn given_back(id: &str) -> &str {
    if id.len() > ID && raw::kind(id) != "a string" {
        return "null";
    }
    id
}
