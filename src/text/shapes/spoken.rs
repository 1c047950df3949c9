//! Names of secrets without a sign between them and the value: `token 5f3a…`, `--password x`,
//! `<password>x</password>`.

use super::{
    prose,
    source::{Source, count_back},
    value::{self, Form},
};
use crate::text::{
    beginnings::Beginnings,
    first,
    keys::{self, Key},
    last,
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
    "otp",
    "pin",
    "one-time code",
    "verification code",
    "security code",
    "identified by",
];

pub(super) static BEGINNINGS: Beginnings = Beginnings::NONE.with_all(NAMES);

/// The value after a name in a sentence: `the password is hunter2`, `wrong password (x)`, `pin
/// 4711`. In quotes or brackets, any value that is not an ordinary word counts. Without them, it
/// has to look like a secret.
pub(super) fn value(text: &Source<'_>, at: usize) -> Option<Range<usize>> {
    let rest = text.as_bytes().get(at..)?;
    if !BEGINNINGS.may_begin_in_any_case(rest) {
        return None;
    }
    let name = NAMES.iter().find(|name| {
        rest.get(..name.len())
            .is_some_and(|word| word.eq_ignore_ascii_case(name.as_bytes()))
            && rest
                .get(name.len())
                .is_some_and(|next| !next.is_ascii_alphanumeric() && *next != b'_')
    })?;
    let (start, is_in_brackets) = after_name(text, at + name.len())?;
    let value = value::at(text, start)?;
    let word = &text[value.range.clone()];
    let is_password = name.starts_with("pass") || *name == "identified by";
    let may_be_number = is_password || name.ends_with("code") || matches!(*name, "otp" | "pin");
    let is_one = match value.form {
        Form::Quoted => {
            let is_short = word.len() <= 128 && !word.contains('\n');
            is_short
                && !prose::is_word(word)
                && (is_password || prose::is_told(word, may_be_number))
        }
        Form::Bare if is_in_brackets && is_password => {
            !prose::is_word(word) && text[value.range.end..].starts_with(')')
        }
        Form::Bare => {
            prose::is_told(word, may_be_number)
                || (*name == "password" && is_of_netrc(text, at) && !prose::is_word(word))
        }
        Form::Group => false,
    };
    is_one.then_some(value.range)
}

/// Whether a user comes before it, as in a `.netrc`: `login emma password x`.
fn is_of_netrc(text: &str, at: usize) -> bool {
    let mut words = last(&text[..at], 64).split_whitespace().rev();
    words.nth(1) == Some("login")
}

/// Characters between a name and its value, after a space.
const DASHES: &[char] = &[
    '-', '\u{2013}', '\u{2014}', '\u{2192}', '\u{21d2}', '~', ' ',
];
const FOLLOWS: &[&str] = &[
    "is ",
    "is: ",
    "was ",
    "was: ",
    "to ",
    "provided ",
    "provided: ",
    "supplied ",
    "supplied: ",
    "given ",
    "given: ",
    "used ",
    "used: ",
];

/// Where a value may begin after a name, and whether it is in brackets. It may follow a space or
/// another sign, `is`, `to`, or `for` with a user and a colon.
fn after_name(text: &Source<'_>, at: usize) -> Option<(usize, bool)> {
    let near = first(&text[at..], 96);
    let rest = near.trim_start_matches([' ', '\t', ',', ';', '|', '\u{a0}']);
    if rest.len() == near.len() {
        return None;
    }
    let rest = rest.trim_start_matches(DASHES);
    let place = |rest: &str| at + near.len() - rest.len();
    if let Some(inner) = rest.strip_prefix('(') {
        return Some((place(inner), true));
    }
    if let Some(inner) = rest.strip_prefix('[') {
        return Some((place(inner), false));
    }
    if let Some(rest) = FOLLOWS.iter().find_map(|word| rest.strip_prefix(word)) {
        return Some((place(rest), false));
    }
    for (word, end) in [("for ", ": "), ("of ", " is ")] {
        if let Some(whom) = rest.strip_prefix(word) {
            let (whom, rest) = whom.split_once(end)?;
            let is_one = !whom.contains(' ') || whom.split(' ').count() == 2;
            return is_one.then(|| (place(rest), false));
        }
    }
    Some((place(rest), false))
}

/// The value after an identifier and a space: `AWS_SECRET_KEY x`.
pub(super) fn after_identifier(text: &Source<'_>, at: usize) -> Option<Range<usize>> {
    let before = &text.as_bytes()[..at];
    let length = count_back(before, 64, |byte| {
        byte.is_ascii_alphanumeric() || byte == b'_'
    });
    let name = &text[at - length..at];
    if !name.contains('_') || keys::read(name) == Key::Harmless {
        return None;
    }
    let (start, _) = after_name(text, at)?;
    let value = value::at(text, start)?;
    let is_one = value.form == Form::Bare && prose::is_told(&text[value.range.clone()], false);
    is_one.then_some(value.range)
}

/// A password as the second of two: `["password", "x1y2z3"]`, `('password', 'x1y2z3')`.
pub(super) fn second(text: &Source<'_>, at: usize) -> Option<Range<usize>> {
    let near = first(&text[at + 1..], 96);
    let name = near.trim_start_matches('\\');
    let quote = name.chars().next().filter(|c| matches!(c, '"' | '\''))?;
    let name = &name[1..];
    let (name, rest) = name.split_once(quote)?;
    let name = name.trim_end_matches('\\');
    let rest = rest.strip_prefix(',')?;
    if keys::read(name) == Key::Harmless {
        return None;
    }
    let value = value::at(text, at + 1 + near.len() - rest.len())?;
    let is_one = value.form == Form::Quoted && prose::is_told(&text[value.range.clone()], true);
    is_one.then_some(value.range)
}

/// The value in the `Debug` form of a secret's type, or in a call that sets a secret:
/// `Secret("x")`, `setPassword("x")`.
pub(super) fn shown(text: &Source<'_>, at: usize) -> Option<Range<usize>> {
    let length = count_back(&text.as_bytes()[..at], 64, |byte| {
        byte.is_ascii_alphanumeric()
    });
    let name = &text[at - length..at];
    let is_type = name.starts_with(|c: char| c.is_ascii_uppercase());
    let is_set = || {
        let what = name.strip_prefix("set").or(name.strip_prefix("with"));
        what.is_some_and(|what| what.starts_with(|c: char| c.is_ascii_uppercase()))
    };
    let is_built =
        || text[..at - length].ends_with('.') && (name.contains("pass") || name.contains("secret"));
    let may_be_one = (is_type && name != "Token") || is_set() || is_built();
    if !may_be_one || keys::read(name) == Key::Harmless {
        return None;
    }
    let value = value::at(text, at + 1)?;
    let word = &text[value.range.clone()];
    let is_one = value.form == Form::Quoted && !prose::is_word(word) && !word.contains(' ');
    is_one.then_some(value.range)
}

/// Whether the type of the object that begins at `at` has the name of a secret: `Password { value:
/// "x" }`.
pub(super) fn is_of_secret_type(text: &str, at: usize) -> bool {
    let before = text[..at].trim_end_matches(' ').as_bytes();
    let length = count_back(before, 64, |byte| byte.is_ascii_alphanumeric());
    let name = std::str::from_utf8(&before[before.len() - length..]).unwrap_or_default();
    let is_type = name.starts_with(|c: char| c.is_ascii_uppercase());
    is_type && name != "Token" && keys::read(name) != Key::Harmless
}

/// The value of a command's flag. The name of the flag begins at `at`.
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
    // In a list of arguments, quotes and a comma separate the two.
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

/// The value of `-u` or `--user`, if it has a password and not the id of a group.
pub(super) fn user(text: &Source<'_>, at: usize) -> Option<Range<usize>> {
    let rest = text.get(at..)?;
    let name = ["u ", "user ", "proxy-user ", "user=", "proxy-user="]
        .iter()
        .find(|name| rest.starts_with(**name))?;
    let value = value::at(text, at + name.len())?;
    let (_, password) = text[value.range.clone()].split_once(':')?;
    let is_one = password.bytes().any(|byte| !byte.is_ascii_digit()) && !password.starts_with("//");
    is_one.then_some(value.range)
}
