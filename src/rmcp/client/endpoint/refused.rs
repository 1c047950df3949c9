//! Responses with an error status.

use super::{
    HttpError,
    answer::{PROMPT, SHORT, read},
    error::HttpRefusal,
    headers::header,
    parser::{Parsed, Parser},
};
use crate::{
    failure::{RpcError, first},
    json,
    rmcp::client::wire::read_error,
};
use ::http::header::{RETRY_AFTER, WWW_AUTHENTICATE};
use reqwest::Response;
use serde::de::IgnoredAny;
use serde_json::Value;
use tokio::time::timeout;

/// How much of a text is kept.
const TEXT: usize = 256;

/// The error of a response with an error status.
pub(super) async fn refusal(response: Response, had_session: bool) -> HttpError {
    let mut refusal = HttpRefusal {
        www_authenticate: header(&response, &WWW_AUTHENTICATE),
        had_session,
        ..HttpRefusal::new(response.status(), retry_after_of(&response))
    };
    // If it breaks off or never ends, only complete parts count.
    let is_json = |bytes: &[u8]| serde_json::from_slice::<IgnoredAny>(bytes).is_ok();
    if let Ok(Ok(body)) = timeout(PROMPT, read(response, SHORT, is_json)).await
        && let Some(bytes) = body.whole()
    {
        read_body(&mut refusal, &String::from_utf8_lossy(bytes));
    }
    HttpError::Status(Box::new(refusal))
}

fn read_body(refusal: &mut HttpRefusal, text: &str) {
    refusal.body = object(text);
    refusal.error = refusal.body.as_ref().and_then(error);
    refusal.text = refusal
        .error
        .is_none()
        .then(|| first(text, TEXT).to_owned());
}

/// HTTP joins several lines to one list.
pub(super) fn retry_after_of(response: &Response) -> Option<String> {
    let lines = response.headers().get_all(RETRY_AFTER).iter();
    let lines: Vec<_> = lines.filter_map(|line| line.to_str().ok()).collect();
    (!lines.is_empty()).then(|| lines.join(", "))
}

/// The object of a body: the body itself, the first of a list, in a text of JSON, or in the data of
/// an event.
fn object(text: &str) -> Option<Value> {
    let text = text.trim_start_matches('\u{feff}').trim();
    let object = match json::read(text) {
        Ok(Value::Array(items)) => items.into_iter().find(Value::is_object),
        Ok(Value::String(inner)) => json::read(&inner).ok(),
        Ok(other) => Some(other),
        Err(_) => in_event(text),
    };
    object.filter(Value::is_object)
}

fn in_event(text: &str) -> Option<Value> {
    let mut parser = Parser::default();
    let mut events = parser.push(text.as_bytes());
    events.extend(parser.whole());
    events.into_iter().find_map(|event| match event {
        Parsed::Event(event) => json::read(&event.data?).ok().filter(Value::is_object),
        Parsed::Long(_) | Parsed::Other(_) => None,
    })
}

/// The JSON-RPC error of a body. Without the name of the protocol, it needs a number and a message.
fn error(body: &Value) -> Option<RpcError> {
    let error = body.get("error").filter(|error| !error.is_null())?;
    let is_rpc = body.get("jsonrpc").is_some();
    let has_both = || {
        let code = error.get("code").is_some_and(|code| match code {
            Value::String(text) => text.trim().parse::<i32>().is_ok(),
            code => code.is_number(),
        });
        code && error.get("message").is_some_and(Value::is_string)
    };
    (is_rpc || has_both()).then(|| {
        let error = read_error(error.clone());
        RpcError::new(error.code.0, error.message, error.data)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use ::http::StatusCode;

    #[test]
    fn what_is_no_json_rpc_error_stays_a_text() {
        for text in [
            "Session not found",
            "<html>",
            r#"{"error":"slow down","retryAfter":1}"#,
            r#"{"error":{"code":"rate_limited","message":"slow"}}"#,
            r#"{"jsonrpc":"2.0","error":null}"#,
            "",
        ] {
            let mut said = HttpRefusal::new(StatusCode::BAD_REQUEST, None);
            read_body(&mut said, text);
            assert!(said.error.is_none(), "{text}");
            assert_eq!(said.text.as_deref(), Some(text));
        }
    }
}
