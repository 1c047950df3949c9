//! Names of secrets without a sign between them and the value: `token 5f3a…`, `--password x`,
//! `<password>x</password>`.

use super::{
    prose,
    source::Source,
    value::{self, Form},
};
use crate::text::{
    beginnings::Beginnings,
    keys::{self, Key},
};
use std::ops::Range;

const NAMES: &[&str] = &[
    "password",
    "passwd",
    "passphrase",
    "passcode",
    "secret key",
    "secret",
    "token",
    "api key",
    "access key",
    "api token",
    "access token",
];

static BEGINNINGS: Beginnings = Beginnings::NONE.with_all(NAMES);

/// A value after a name in a sentence: with quotes around a password, or if it looks random.
pub(super) fn value(text: &Source<'_>, at: usize) -> Option<Range<usize>> {
    let rest = text.as_bytes().get(at..)?;
    if !BEGINNINGS.may_begin_in_any_case(rest) {
        return None;
    }
    let name = NAMES.iter().find(|name| {
        rest.get(..name.len())
            .is_some_and(|word| word.eq_ignore_ascii_case(name.as_bytes()))
            && rest.get(name.len()) == Some(&b' ')
    })?;
    let value = value::at(text, at + name.len() + 1)?;
    let word = &text[value.range.clone()];
    let is_password = name.starts_with("pass");
    let is_one = match value.form {
        Form::Quoted => {
            let is_short = word.len() <= 128 && !word.contains('\n');
            is_short && !prose::is_word(word) && (is_password || prose::is_random(word))
        }
        Form::Bare => prose::is_random(word) && !word.contains(['(', '=', ':']),
        Form::Group => false,
    };
    is_one.then_some(value.range)
}

/// The value of a flag of a command, whose name begins there.
pub(super) fn flag(text: &Source<'_>, at: usize) -> Option<Range<usize>> {
    let rest = &text[at..];
    let length = rest
        .bytes()
        .take(64)
        .take_while(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_'))
        .count();
    if keys::read(&rest[..length]) == Key::Harmless {
        return None;
    }
    // In a list of arguments there are quotes and a comma between the two.
    let gap = rest[length..]
        .bytes()
        .take(8)
        .take_while(|byte| matches!(byte, b' ' | b',' | b'"' | b'\'' | b'\\'))
        .count();
    let start = at + length + gap;
    let is_list = rest[length..length + gap].contains(',');
    let is_spaced = rest[length..length + gap].contains(' ');
    if !is_list && !is_spaced {
        return None;
    }
    let quoted = rest[length..length + gap]
        .rfind(['"', '\''])
        .filter(|_| is_list);
    let value = value::at(text, quoted.map_or(start, |quote| at + length + quote))
        .or_else(|| value::at(text, start))?;
    let word = &text[value.range.clone()];
    (!word.starts_with('-') && !prose::is_word(word)).then_some(value.range)
}

/// What follows `-u` or `--user`, if there is a password in it and not the number of a group.
pub(super) fn user(text: &Source<'_>, at: usize) -> Option<Range<usize>> {
    let rest = text.get(at..)?;
    let name = ["u ", "user ", "proxy-user "]
        .iter()
        .find(|name| rest.starts_with(**name))?;
    let value = value::at(text, at + name.len())?;
    let (_, password) = text[value.range.clone()].split_once(':')?;
    let is_one = password.bytes().any(|byte| !byte.is_ascii_digit()) && !password.starts_with("//");
    is_one.then_some(value.range)
}

/// The content of an element whose tag ends there.
pub(super) fn element(text: &str, at: usize) -> Option<Range<usize>> {
    let before = &text.as_bytes()[..at];
    let length = before
        .iter()
        .rev()
        .take(64)
        .take_while(|byte| {
            byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.' | b':')
        })
        .count();
    let start = at - length;
    if length == 0
        || !before[..start].ends_with(b"<")
        || keys::read(&text[start..at]) == Key::Harmless
    {
        return None;
    }
    let content = &text[at + 1..];
    let content = &content[..content.find('<')?];
    (!content.trim().is_empty()).then_some(at + 1..at + 1 + content.len())
}
