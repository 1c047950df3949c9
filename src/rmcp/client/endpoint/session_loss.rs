//! Lost sessions, as SDKs and web frameworks say it.

use serde_json::Value;

/// Whether a refusal says so, by its body as JSON or as a text.
pub(super) fn is_in(body: Option<&Value>, text: Option<&str>) -> bool {
    let in_body = body.into_iter().flat_map(texts);
    text.into_iter().chain(in_body).any(is_said)
}

/// The places where web frameworks write the text of a refusal.
fn texts(body: &Value) -> impl Iterator<Item = &str> {
    let objects = [Some(body), body.get("error")];
    let members = objects.into_iter().flatten().flat_map(|object| {
        ["error", "message", "detail", "title"]
            .into_iter()
            .filter_map(|name| object.get(name))
    });
    members.filter_map(Value::as_str)
}

/// The texts of SDKs and their examples for an unknown session, with anything before or after it:
/// TypeScript, Python, rmcp, Go, C#, Java.
pub(super) fn is_said(text: &str) -> bool {
    const FRONTS: [&str; 3] = ["bad request: ", "not found: ", "unauthorized: "];
    const TEXTS: [&str; 9] = [
        "session not found",
        "session terminated",
        "session has been terminated",
        "no valid session id provided",
        "invalid session id",
        "invalid or missing session id",
        "invalid or expired session id",
        "unknown session",
        // Of a restarted server.
        "server not initialized",
    ];
    let text = text.trim().trim_matches('"').trim_end_matches('.');
    let text = text.to_ascii_lowercase();
    let text = FRONTS
        .iter()
        .find_map(|front| text.strip_prefix(front))
        .unwrap_or(&text);
    TEXTS.iter().any(|known| {
        let rest = text.strip_prefix(known);
        rest.is_some_and(|rest| {
            let name = rest.strip_prefix(": ");
            rest.is_empty() || name.is_some_and(|name| !name.contains(char::is_whitespace))
        })
    })
}
