//! Headers of answers, and the names of those that both sides write.

use ::http::{HeaderName, header::CONTENT_TYPE};
use reqwest::Response;

pub(super) const SESSION_ID: HeaderName = HeaderName::from_static("mcp-session-id");
pub(super) const EVENTS: &str = "text/event-stream";
pub(super) const BOTH: &str = "text/event-stream, application/json";

pub(super) fn header(response: &Response, name: &HeaderName) -> Option<String> {
    let value = response.headers().get(name)?.to_str().ok()?;
    Some(value.to_owned())
}

pub(super) fn has_type(response: &Response, expected: &str) -> bool {
    let Some(value) = header(response, &CONTENT_TYPE) else {
        return false;
    };
    let media_type = value.split(';').next().unwrap_or_default().trim();
    media_type.eq_ignore_ascii_case(expected)
}
