//! Texts that SDKs write, known word by word and matched where the SDK puts them.

use crate::failure::{Class, Delivery};

/// How an SDK's text begins, and what it means.
const BEGINNINGS: &[(&str, Class)] = &[
    // TypeScript 1 and 2, the former behind `MCP error -32602: `.
    ("Input validation error: ", Class::InvalidInput),
    ("Output validation error: ", Class::InvalidOutput),
    // rmcp.
    ("failed to deserialize parameters: ", Class::InvalidInput),
    // Python, FastMCP.
    ("Unknown tool: ", Class::NotFound),
];

/// What a flagged result's text says of the call, if an SDK wrote it.
pub(super) fn class(text: &str) -> Option<(Class, Delivery)> {
    if let Some(rest) = text.strip_prefix("Error executing tool ") {
        return Some(python(rest));
    }
    let (number, text) = number_in_front(text);
    let class = BEGINNINGS
        .iter()
        .find(|(beginning, _)| text.starts_with(beginning))
        .map(|(_, class)| *class)
        .or_else(|| is_unknown_tool(text).then_some(Class::NotFound))
        .or_else(|| is_pydantic(text).then_some(Class::InvalidInput))
        // Whatever else that SDK refuses under this number, it refuses before the tool runs.
        .or_else(|| (number == Some("32602")).then_some(Class::InvalidInput))?;
    Some((class, before_or_after(class)))
}

/// The texts of a tool that does not exist: TypeScript, Go, rmcp.
pub(super) fn is_unknown_tool(text: &str) -> bool {
    let names_one = |text: &str| {
        text.strip_prefix("Tool ")
            .and_then(|rest| rest.strip_suffix(" not found"))
            .is_some_and(is_name)
    };
    text == "tool not found"
        || names_one(text)
        || text.starts_with("Unknown tool: ")
        || text.starts_with("unknown tool \"")
}

/// The texts of a session that is gone.
pub(super) fn is_session_loss(text: &str) -> bool {
    matches!(
        text.trim_end_matches('.'),
        "Session not found" | "Session terminated"
    )
}

/// Python: `NAME: message` for an error that the author foresaw, `NAME` alone for a crash.
fn python(rest: &str) -> (Class, Delivery) {
    let class = match rest.split_once(": ") {
        Some((name, message)) if is_name(name) && is_pydantic(message) => Class::InvalidInput,
        None if is_name(rest) => Class::Crash,
        _ => Class::Tool,
    };
    (class, before_or_after(class))
}

/// Pydantic: `1 validation error for get_authorArguments`.
fn is_pydantic(text: &str) -> bool {
    let rest = text.trim_start_matches(|c: char| c.is_ascii_digit());
    rest.len() < text.len()
        && (rest.starts_with(" validation error for ")
            || rest.starts_with(" validation errors for "))
}

/// TypeScript 1 puts the number of a JSON-RPC error in front: `MCP error -32602: `.
fn number_in_front(text: &str) -> (Option<&str>, &str) {
    let split = || {
        let rest = text.strip_prefix("MCP error -")?;
        let (number, rest) = rest.split_once(": ")?;
        let is_number = number.bytes().all(|byte| byte.is_ascii_digit());
        is_number.then_some((Some(number), rest))
    };
    split().unwrap_or((None, text))
}

/// A tool's name has no blanks; whatever has is prose.
fn is_name(text: &str) -> bool {
    !text.is_empty() && !text.contains(char::is_whitespace)
}

/// Arguments and names are checked before a tool runs, output after.
fn before_or_after(class: Class) -> Delivery {
    match class {
        Class::InvalidInput | Class::NotFound => Delivery::Refused,
        class => class.delivery(),
    }
}
