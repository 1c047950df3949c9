//! Passwords in commands of programs and of protocols: `mysql -px`, `AUTH x`, `> PASS x`.

use super::{
    prose, schemes,
    source::Source,
    value::{self, Form},
};
use crate::text::{beginnings::Beginnings, first, last};
use std::ops::Range;

/// Programs whose `-p` takes a password as the next word.
const WITH_P: &[&str] = &[
    "sshpass",
    "docker login",
    "podman login",
    "registry login",
    "mongo",
];

/// `sshpass -p x`, `docker login -u emma -p x`, `redis-cli -a x`, `mysql -px`.
pub(super) fn flag(text: &Source<'_>, at: usize) -> Option<Range<usize>> {
    let mut rest = text[at..].chars();
    let letter = rest.next().filter(|c| matches!(c, 'p' | 'a'))?;
    let is_spaced = rest.as_str().starts_with(' ');
    let before = text[..at.checked_sub(1)?].trim_end();
    if text[..at].ends_with("--") {
        return None;
    }
    // The last command before it.
    let near = last(before, 128).rsplit(['\n', ';', '|']).next()?;
    text.charge(near.len());
    let is_one = match (letter, is_spaced) {
        ('a', true) => near.contains("redis-cli"),
        ('p', true) => WITH_P.iter().any(|program| near.contains(program)),
        ('p', false) => near.contains("mysql"),
        _ => false,
    };
    if !is_one {
        return None;
    }
    let value = value::at(text, at + 1)?;
    (!value.range.is_empty()).then_some(value.range)
}

const PASS: &str = "PASS ";
const AUTH: &str = "AUTH ";

pub(super) static BEGINNINGS: Beginnings = Beginnings::NONE.with(PASS).with(AUTH);

/// The password in a command of a protocol, in upper case.
pub(super) fn of_protocol(text: &Source<'_>, at: usize) -> Option<Range<usize>> {
    let rest = &text[at..];
    if rest.starts_with(PASS) {
        // Without a client's prompt it may be the result of a test (`PASS`).
        let before = text[..at].trim_end_matches(' ');
        if !before.ends_with(['>', '\u{2192}']) && !before.ends_with("C:") {
            return None;
        }
        let value = value::at(text, at + PASS.len())?;
        return (value.form == Form::Bare && !prose::is_word(&text[value.range.clone()]))
            .then_some(value.range);
    }
    let rest = rest.strip_prefix(AUTH)?;
    let mechanism = ["PLAIN ", "LOGIN ", "XOAUTH2 "];
    let mechanism = mechanism.into_iter().find(|name| rest.starts_with(name));
    let start = at + AUTH.len() + mechanism.map_or(0, str::len);
    let word = first(&text[start..], 512).split_whitespace().next()?;
    let is_one = match mechanism {
        Some(_) => word.len() >= 8 && schemes::decoded(word).is_some(),
        None => prose::is_told(word, false),
    };
    is_one.then(|| start..start + word.len())
}
