//! Objects in the syntax of another language, and objects with broken quotes.

use crate::failure::first;
use serde_json::Value;

/// How many ids of a broken text are examined.
const IDS: usize = 256;

/// How much is searched for the end of one, in bytes.
const LONGEST: usize = 128;

/// Whether an object that is not JSON begins with a member of an answer.
pub(super) fn begins(text: &str) -> bool {
    let names = ["jsonrpc", "id", "result", "error"];
    let begin = text.len() - text[1..].trim_start().trim_start_matches(QUOTES).len();
    let mut names = names
        .iter()
        .filter(|name| text[begin..].starts_with(**name));
    names.any(|name| is_name(text, begin, name))
}

/// Whether a text that is not JSON has the names of an answer.
pub(super) fn names_an_answer(text: &str) -> bool {
    let has = |name| {
        text.match_indices(name)
            .any(|(at, _)| is_name(text, at, name))
    };
    has("jsonrpc") && (has("result") || has("error"))
}

/// All possible ids in a text, the last first.
pub(super) fn ids(text: &str) -> impl Iterator<Item = Value> {
    const NAME: &str = "id";
    let named = text
        .rmatch_indices(NAME)
        .filter(|(at, _)| is_name(text, *at, NAME));
    named.take(IDS).filter_map(|(at, name)| {
        let value = &text[at + name.len()..];
        let value = value
            .trim_start_matches(QUOTES)
            .trim_start()
            .strip_prefix(':')?;
        let (value, _) = first(value, LONGEST).split_once([',', '}', '\n'])?;
        let id = serde_json::from_str(&value.trim().replace('\'', "\"")).ok();
        id.filter(|id: &Value| !id.is_null())
    })
}

const QUOTES: [char; 2] = ['"', '\''];

/// Whether this is the name of a member, in quotes or without.
fn is_name(text: &str, at: usize, name: &str) -> bool {
    let (before, after) = (&text[..at], &text[at + name.len()..]);
    let quote = before.chars().next_back().filter(|c| QUOTES.contains(c));
    let before = before.strip_suffix(QUOTES).unwrap_or(before);
    let after = match quote {
        Some(quote) => after.strip_prefix(quote),
        None => Some(after),
    };
    before.trim_end().ends_with(['{', ','])
        && after.is_some_and(|after| after.trim_start().starts_with(':'))
}
