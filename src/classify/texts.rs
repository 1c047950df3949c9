//! Texts that SDKs write, matched word by word at the place where the SDK writes them.

use super::{built_in as known, lookup::Lookup, named::Named};
use crate::failure::{Class, first};

/// The longest part of a text that is searched for the end of a name or a number.
const LONGEST_NAME: usize = 256;
const LONGEST_NUMBER: usize = 24;

/// Whether a server may have lost the session of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Session {
    /// It may. But a text about it may mean a session of the tool's own.
    Untold,
    /// There is no session, so such a text means something else.
    None,
}

/// The meaning of a flagged result's text, if an SDK wrote it, or the user's words know it.
pub(super) fn class(text: &str, lookup: Lookup<'_>) -> Option<Named> {
    if let Some(named) = lookup.own_text(text) {
        return Some(named);
    }
    if let Some(rest) = headline(text) {
        return Some(Named::of(of_message(rest)));
    }
    let (number, text) = number_in_front(text);
    let class = of_sdk(text)
        .or_else(|| is_pydantic(text).then_some(Class::InvalidInput))
        // A JSON-RPC error that became a result on its way.
        .or_else(|| of_number(number?))?;
    Some(Named::of(class))
}

/// The meaning of a JSON-RPC or MCP number by itself.
pub(super) fn of_number(number: i64) -> Option<Class> {
    let mut numbers = known::NUMBERS.iter();
    numbers.find_map(|(known, class)| (*known == number).then_some(*class))
}

/// The meaning of a JSON-RPC error's message, if its number does not say it.
pub(super) fn class_of_message(code: i32, message: &str, session: Session) -> Option<Named> {
    // TypeScript 1 repeats the number in the message.
    let (number, text) = number_in_front(message);
    let code = i64::from(code);
    let text = if number == Some(code) { text } else { message };
    let mut messages = known::MESSAGES.iter();
    let message =
        messages.find(|(number, beginning, _)| *number == code && text.starts_with(beginning));
    if let Some((.., class)) = message {
        return Some(Named::of(*class));
    }
    if known::SESSION_LOSS_NUMBERS.contains(&code) && is_session_loss(text) {
        // It may mean a session of the tool with another server. The connection's own server
        // refuses a request of an unknown session by an HTTP status.
        return match session {
            Session::Untold => Some(Named::of(Class::SessionLost)),
            Session::None => None,
        };
    }
    let class = of_sdk(text).filter(|_| known::TEXT_NUMBERS.contains(&code))?;
    Some(Named::of(class))
}

fn of_sdk(text: &str) -> Option<Class> {
    let mut beginnings = known::BEGINNINGS.iter();
    let beginning = beginnings.find(|(beginning, _)| text.starts_with(beginning));
    let mut around = known::AROUND_A_NAME.iter();
    let mut whole = known::WHOLE.iter();
    beginning
        .map(|(_, class)| *class)
        .or_else(|| {
            let named = around.find(|(before, after, _)| names_one(text, before, after));
            named.map(|(.., class)| *class)
        })
        .or_else(|| {
            let known = whole.find(|(known, _)| text == *known);
            known.map(|(_, class)| *class)
        })
}

fn names_one(text: &str, before: &str, after: &str) -> bool {
    text.strip_prefix(before)
        .and_then(|rest| rest.strip_suffix(after))
        .is_some_and(is_name)
}

/// The texts of a session that is gone.
fn is_session_loss(text: &str) -> bool {
    known::SESSION_LOSS.contains(&text.trim_end_matches('.'))
}

/// The rest after an SDK's headline and the tool's name: a message, or nothing.
fn headline(text: &str) -> Option<&str> {
    known::HEADLINES.iter().find_map(|(before, after)| {
        let rest = text.strip_prefix(before)?;
        if after.is_empty() {
            // The end of the name cannot be found.
            let end = first(rest, LONGEST_NAME).find(": ");
            let (name, message) = rest.split_at(end.unwrap_or(rest.len()));
            return Some(if is_name(name) { message } else { rest });
        }
        let end = first(rest, LONGEST_NAME).find(after)?;
        let (name, message) = (&rest[..end], &rest[end + after.len()..]);
        is_name(name).then_some(message)
    })
}

/// A message for an expected error, nothing for a crash.
fn of_message(rest: &str) -> Class {
    match rest.strip_prefix(": ") {
        Some(message) if is_pydantic(message) => Class::InvalidInput,
        // A client of the tool's own rejected the answer.
        Some(message) if of_sdk(message) == Some(Class::InvalidOutput) => Class::InvalidOutput,
        None if rest.is_empty() || rest == "." => Class::Crash,
        _ => Class::Tool,
    }
}

/// Pydantic: `1 validation error for get_authorArguments`.
fn is_pydantic(text: &str) -> bool {
    let digits = text.bytes().take(LONGEST_NUMBER);
    let digits = digits.take_while(u8::is_ascii_digit).count();
    let rest = &text[digits..];
    digits > 0
        && (rest.starts_with(" validation error for ")
            || rest.starts_with(" validation errors for "))
}

/// TypeScript 1 puts the number of a JSON-RPC error in front: `MCP error -32602: `.
fn number_in_front(text: &str) -> (Option<i64>, &str) {
    let split = || {
        let rest = text.strip_prefix("MCP error ")?;
        let end = first(rest, LONGEST_NUMBER).find(": ")?;
        Some((Some(rest[..end].parse().ok()?), &rest[end + 2..]))
    };
    split().unwrap_or((None, text))
}

/// A tool's name has no blanks; text with blanks is prose.
fn is_name(text: &str) -> bool {
    !text.is_empty() && text.len() <= LONGEST_NAME && !text.contains(char::is_whitespace)
}
