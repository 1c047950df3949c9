//! `name=value`, `name: value`, `"name":"value"`, and lines of headers.

use super::{
    prose,
    source::{Source, count_back},
    value::{self, Form, Value},
};
use crate::text::{
    first,
    keys::{self, Key},
};
use std::ops::Range;

/// The name before a `:` or `=`.
pub(super) struct Name {
    range: Range<usize>,
    is_quoted: bool,
}

/// A name and where its value is.
pub(super) struct Assignment {
    pub(super) name: Name,
    pub(super) value: Value,
    /// The sign is `=`, or `:` without a space after it.
    is_tight: bool,
}

/// No name is longer.
const LONGEST: usize = 128;

/// Headers whose whole line is secret.
const HEADERS: &[&str] = &[
    "authorization",
    "proxy-authorization",
    "cookie",
    "set-cookie",
    "cookie2",
    "x-authorization",
];

impl Name {
    /// The name before the sign at `at`. `None` if the sign is part of a path such as `a::b`.
    pub(super) fn before(text: &str, at: usize) -> Option<Self> {
        let bytes = text.as_bytes();
        let is_path = bytes[at] == b':'
            && (bytes.get(at + 1) == Some(&b':') || (at > 0 && bytes[at - 1] == b':'));
        let (range, is_quoted) = name_before(text, at).filter(|_| !is_path)?;
        Some(Self { range, is_quoted })
    }

    pub(super) fn start(&self) -> usize {
        self.range.start
    }

    pub(super) fn as_str<'t>(&self, text: &'t str) -> &'t str {
        &text[self.range.clone()]
    }

    /// Whether the value is worth reading.
    pub(super) fn may_be_secret(&self, text: &str) -> bool {
        let name = self.as_str(text);
        self.kind(text) != Key::Harmless
            || (is_short_name(name) && self.is_in_query(text))
            || is_of_bot(name)
    }

    pub(super) fn is_of_secret(&self, text: &str) -> bool {
        self.kind(text) != Key::Harmless
    }

    fn is_in_query(&self, text: &str) -> bool {
        text[..self.range.start].ends_with(['?', '&', '#'])
    }

    /// Reads the name, also together with the word before it, as in `API key: …`.
    fn kind(&self, text: &str) -> Key {
        let kind = keys::read(self.as_str(text));
        if kind != Key::Harmless || self.is_quoted {
            return kind;
        }
        let before = &text.as_bytes()[..self.range.start];
        let Some(before) = before.strip_suffix(b" ") else {
            return kind;
        };
        let word = count_back(before, 24, |byte| byte.is_ascii_alphanumeric());
        keys::read_to_the_end(&text[self.range.start - 1 - word..self.range.end])
    }
}

impl Assignment {
    pub(super) fn of(text: &Source<'_>, name: Name, at: usize) -> Option<Self> {
        let bytes = text.as_bytes();
        // `==`, `=>` and `:=` are one sign.
        let after = match bytes[at] {
            b'%' | b'\\' => at + escaped_sign(&bytes[at..])?,
            // A full-width sign.
            0xef => at + 3,
            _ => at + 1 + usize::from(matches!(bytes.get(at + 1), Some(b'=' | b'>'))),
        };
        // `**Password:** …` in Markdown.
        let marks = first(&text[after..], 4);
        let marks = marks.len() - marks.trim_start_matches('*').len();
        let is_marked = marks > 0 && text[after + marks..].starts_with(' ');
        let after = after + if is_marked { marks } else { 0 };
        let is_tight =
            !matches!(bytes[at], b':' | b'-') || !text[after..].starts_with([' ', '\t', '\u{a0}']);
        let value = value::at(text, after)?;
        Some(Self {
            name,
            value,
            is_tight,
        })
    }

    /// The value, if the name says that it is secret and it reads like a value.
    pub(super) fn secret(&self, text: &Source<'_>) -> Option<Range<usize>> {
        let name = self.name.as_str(text);
        let value = &text[self.value.range.clone()];
        match self.name.kind(text) {
            // An API key, or an authorization code.
            Key::Harmless if is_short_name(name) => {
                let is_api_key =
                    self.name.is_in_query(text) && value.len() >= 16 && prose::is_random(value);
                return is_api_key.then(|| self.value.range.clone());
            }
            Key::Harmless => return telegram(name, value).then(|| self.value.range.clone()),
            Key::SecretUnlessCounted if is_amount(value) => return None,
            Key::Secret | Key::SecretUnlessCounted => {}
        }
        let is_directory = value.starts_with(['/', '~']) || value.get(1..3) == Some(":\\");
        if name.to_ascii_lowercase().ends_with("pwd") && is_directory {
            return None;
        }
        if !value.chars().any(char::is_alphanumeric) && value.len() < 4 {
            return None;
        }
        match self.value.form {
            Form::Quoted | Form::Group => (!is_constant(value)).then(|| self.value.range.clone()),
            Form::Bare => self.bare(text, name, value),
        }
    }

    fn bare(&self, text: &Source<'_>, name: &str, value: &str) -> Option<Range<usize>> {
        let start = self.value.range.start;
        let is_header = HEADERS
            .iter()
            .any(|header| name.eq_ignore_ascii_case(header));
        if is_constant(value) || is_count(name, value) {
            return None;
        }
        // These are ordinary words unless they are parameters of a request.
        let is_weak = ["signature", "session", "sig", "pat"]
            .iter()
            .any(|weak| name.eq_ignore_ascii_case(weak));
        if is_weak && !self.is_tight {
            return None;
        }
        // Probably a sentence in the language of the name.
        if !name.is_ascii() && !value.is_ascii() {
            return None;
        }
        let is_prose = prose::is_word(value);
        if is_header {
            // `Authorization: Bearer x`, but not `authorization: permission denied`.
            let is_scheme = matches!(
                value.to_ascii_lowercase().as_str(),
                "bearer" | "basic" | "token" | "digest" | "negotiate" | "key" | "oauth"
            );
            let more = first(&text[self.value.range.end..], 128);
            let mut more = more.split_whitespace();
            let has_more = more.next().is_some_and(|word| !prose::is_word(word));
            let is_one = !is_prose || (is_scheme && has_more);
            return is_one.then(|| start..value::header_end(text, self.name.range.start, start));
        }
        if is_prose && !self.is_tight {
            return None;
        }
        if prose::is_word(value) && !value.bytes().all(|byte| byte.is_ascii_alphanumeric()) {
            return None;
        }
        Some(start..self.end(text))
    }

    /// The end of a bare value. `Password=two words;` ends at its `;`. A value on a line of its own
    /// ends with the line.
    fn end(&self, text: &Source<'_>) -> usize {
        let range = &self.value.range;
        if self.is_tight {
            let near = first(&text[range.end..], 256);
            let rest = &near[..value::line_length(near)];
            return match rest.find(';') {
                Some(length) if !rest[..length].contains(['=', ',', '&']) => range.end + length,
                _ => range.end,
            };
        }
        let before = text[..self.name.range.start]
            .trim_end_matches([' ', '\t', '-', '*', '>', '#', '"', '\'', '`']);
        if before.is_empty() || before.ends_with('\n') || before.ends_with("\\n") {
            let line = value::line_end(text, range.start);
            let rest = &text[range.start..line];
            let end = [", ", "; "].iter().filter_map(|sign| rest.find(sign)).min();
            return end
                .map_or(line, |length| range.start + length)
                .max(range.end);
        }
        range.end
    }
}

/// The name that ends before this place, and whether it has quotes.
fn name_before(text: &str, at: usize) -> Option<(Range<usize>, bool)> {
    let bytes = text.as_bytes();
    let back = |end: usize, is_one: fn(u8) -> bool, most: usize| {
        end - count_back(&bytes[..end], most, is_one)
    };
    let end = back(at, |byte| byte == b' ', 2);
    // `**Password**: …` in Markdown.
    let end = back(end, |byte| byte == b'*', 3);
    if let Some(quote) = value::escaped_quote_at_end(&text[..end]) {
        let end = end - quote.len();
        let start = back(
            end,
            |byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.'),
            LONGEST,
        );
        // An escaped quote before the name may end in letters or digits too.
        let start = start + name_after_quote(&text[..start], &text[start..end]);
        return (start < end).then_some((start..end, true));
    }
    // `environ['NAME'] = …` has two such characters.
    let unquoted = back(end, |byte| matches!(byte, b'"' | b'\'' | b'`' | b']'), 2);
    let is_quoted = unquoted < end;
    let end = if is_quoted {
        back(unquoted, |byte| byte == b'\\', 16)
    } else {
        end
    };
    let start = back(
        end,
        |byte| {
            byte.is_ascii_alphanumeric()
                || matches!(byte, b'_' | b'-' | b'.' | b'$')
                || !byte.is_ascii()
        },
        LONGEST,
    );
    let mut start = (start..end).find(|at| text.is_char_boundary(*at))?;
    // An escaped line end is not part of the name.
    if start > 0 && bytes[start - 1] == b'\\' && matches!(bytes[start], b'n' | b'r' | b't') {
        start += 1;
    }
    (start < end).then_some((start..end, is_quoted))
}

/// How many bytes of the name belong to the quote before it: 2 in `%22password`.
fn name_after_quote(before: &str, name: &str) -> usize {
    let ends = [("%", "22"), ("%", "27"), ("\\", "u0022"), ("\\", "u0027")];
    let mut ends = ends.iter();
    let end = ends.find(|(sign, end)| before.ends_with(sign) && name.starts_with(end));
    end.map_or(0, |(_, end)| end.len())
}

/// The length of an escaped `=` or `:` at the start of a text: `%3D`, `%253D`, `\u003d`.
pub(super) fn escaped_sign(text: &[u8]) -> Option<usize> {
    let begin = match text.first()? {
        b'%' if text.starts_with(b"%25") => 3,
        b'%' => 1,
        _ if text.starts_with(b"\\u00") => 4,
        _ => return None,
    };
    let sign = text.get(begin..begin + 2)?;
    let is_one = sign[0] == b'3' && matches!(sign[1] | 0x20, b'd' | b'a');
    is_one.then_some(begin + 2)
}

/// Words that programs write if there is no value.
fn is_constant(value: &str) -> bool {
    [
        "null",
        "none",
        "true",
        "false",
        "nil",
        "undefined",
        "unset",
        "Some",
        "None",
    ]
    .iter()
    .any(|word| value.eq_ignore_ascii_case(word))
}

/// Whether it is a small number, and so a count. Values that are always short, such as a PIN, do
/// not count.
fn is_count(name: &str, value: &str) -> bool {
    let name = name.to_ascii_lowercase();
    value.len() <= 3
        && value.bytes().all(|byte| byte.is_ascii_digit())
        && !["pin", "otp", "cvv", "cvc", "code"]
            .iter()
            .any(|short| name.ends_with(short))
}

/// Names of parameters that are secret only in the query of a URL.
fn is_short_name(name: &str) -> bool {
    name.eq_ignore_ascii_case("key") || name.eq_ignore_ascii_case("code")
}

/// `500`, `~1,500`, `12/100`, `4k`.
fn is_amount(value: &str) -> bool {
    let is_part = |byte: u8| byte.is_ascii_digit() || b",._/~%kKmM".contains(&byte);
    value.len() <= 24 && value.bytes().all(is_part)
}

/// A bot's token: `123456789:AA…`.
fn telegram(name: &str, value: &str) -> bool {
    is_of_bot(name) && value.starts_with("AA") && value.len() >= 30
}

fn is_of_bot(name: &str) -> bool {
    let digits = name.bytes().rev().take_while(u8::is_ascii_digit).count();
    (8..=12).contains(&digits)
}
