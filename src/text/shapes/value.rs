//! Finds the value after a name.

use super::source::{Source, count_back};
use crate::text::first;
use std::ops::Range;

/// A value as it is written, without its quotes.
#[derive(Clone, Debug)]
pub(super) struct Value {
    pub(super) range: Range<usize>,
    pub(super) form: Form,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    Quoted,
    /// An object or a list, with its brackets.
    Group,
    Bare,
}

/// The value that begins at `at`, after spaces.
pub(super) fn at(text: &Source<'_>, at: usize) -> Option<Value> {
    let bytes = text.as_bytes();
    let near = first(&text[at..], 16);
    let spaces = near.len() - near.trim_start_matches([' ', '\t', '\u{a0}']).len();
    let start = skip_wrapper(bytes, at + spaces);
    if let Some(quote) = escaped_quote(&text[start..]) {
        let start = start + quote.len();
        let end = text[start..].find(quote);
        let end = end.map_or(text.len(), |length| start + length);
        return Some(quoted(text, start..end));
    }
    if let Some((open, close)) = typographic_quotes(&text[start..]) {
        let start = start + open.len();
        let near = first(&text[start..], 1024);
        let end = start + near.find(close).unwrap_or(near.len());
        return Some(quoted(text, start..end));
    }
    let backslashes = bytes[start..]
        .iter()
        .take_while(|byte| **byte == b'\\')
        .count();
    match bytes.get(start + backslashes)? {
        quote @ (b'"' | b'\'') if bytes[start..].starts_with(&[*quote; 3]) => {
            let start = start + 3;
            let end = text[start..].find(&text[start - 3..start]);
            let end = end.map_or(text.len(), |length| start + length);
            Some(quoted(text, start..end))
        }
        quote @ (b'"' | b'\'' | b'`') => {
            let start = start + backslashes + 1;
            let end = quoted_end(bytes, start, *quote, backslashes);
            Some(quoted(text, start..end))
        }
        b'{' | b'[' if backslashes == 0 => {
            let end = group_end(bytes, start);
            text.charge(end - start);
            let goes_on = bytes.get(end).is_some_and(u8::is_ascii_alphanumeric);
            Some(Value {
                range: start..if goes_on { bare_end(text, end) } else { end },
                form: if goes_on { Form::Bare } else { Form::Group },
            })
        }
        b'<' => {
            let inner = first(&text[start + 1..], 128).split('>').next()?;
            let is_one = super::prose::is_random(inner);
            let end = start + 1 + if is_one { inner.len() } else { 0 };
            Some(Value {
                range: start + usize::from(is_one)..end,
                form: Form::Bare,
            })
            .filter(|_| is_one)
        }
        _ => {
            let end = bare_end(text, start);
            Some(Value {
                range: start..end,
                form: Form::Bare,
            })
        }
    }
}

/// A value in quotes, which was read to its end.
fn quoted(text: &Source<'_>, range: Range<usize>) -> Value {
    text.charge(range.len());
    Value {
        range,
        form: Form::Quoted,
    }
}

/// Quotes as escaped in HTML, in URLs and in JSON.
const ESCAPED_QUOTES: &[&str] = &[
    "&quot;", "&#34;", "&#39;", "&apos;", "%22", "%27", "\\u0022", "\\u0027",
];

/// The typographic quote at the start of a text, with its closing quote.
fn typographic_quotes(text: &str) -> Option<(&'static str, char)> {
    const QUOTES: [(&str, char); 6] = [
        ("\u{201c}", '\u{201d}'),
        ("\u{2018}", '\u{2019}'),
        ("\u{ab}", '\u{bb}'),
        ("\u{201e}", '\u{201c}'),
        ("\u{2039}", '\u{203a}'),
        ("\u{300c}", '\u{300d}'),
    ];
    if text.as_bytes().first()?.is_ascii() {
        return None;
    }
    QUOTES.into_iter().find(|(open, _)| text.starts_with(open))
}

/// The escaped quote at the start of a text.
fn escaped_quote(text: &str) -> Option<&'static str> {
    let mut quotes = ESCAPED_QUOTES.iter().copied();
    quotes.find(|quote| text.starts_with(quote))
}

/// The escaped quote at the end of a text.
pub(super) fn escaped_quote_at_end(text: &str) -> Option<&'static str> {
    let mut quotes = ESCAPED_QUOTES.iter().copied();
    quotes.find(|quote| text.ends_with(quote))
}

/// Skips `Some(`, `SecretString(`, and the prefix of a string literal: `b"`.
fn skip_wrapper(bytes: &[u8], start: usize) -> usize {
    let mut start = start;
    for _ in 0..4 {
        let name = bytes[start..]
            .iter()
            .take(32)
            .take_while(|byte| byte.is_ascii_alphabetic())
            .count();
        match bytes.get(start + name) {
            Some(b'(') if name > 0 => start += name + 1,
            Some(b'"' | b'\'') if is_kind(&bytes[start..start + name]) => start += name,
            _ => break,
        }
    }
    start
}

/// The prefixes of string literals in Python and Rust.
fn is_kind(letters: &[u8]) -> bool {
    matches!(letters.len(), 1 | 2) && letters.iter().all(|c| b"bcfru".contains(&(c | 0x20)))
}

/// The closing quote, at the same depth of escapes as the opening one.
pub(super) fn quoted_end(bytes: &[u8], start: usize, quote: u8, depth: usize) -> usize {
    let mut run = 0;
    for (at, byte) in bytes.iter().enumerate().skip(start) {
        match *byte {
            b'\\' => run += 1,
            byte if byte == quote
                && (run < depth || (run - depth).is_multiple_of(2 * (depth + 1))) =>
            {
                return at - run.min(depth);
            }
            _ => run = 0,
        }
    }
    bytes.len()
}

fn group_end(bytes: &[u8], start: usize) -> usize {
    let mut depth = 0_usize;
    let mut is_quoted = false;
    let mut at = start;
    while let Some(byte) = bytes.get(at) {
        match byte {
            b'\\' if is_quoted => at += 1,
            b'"' => is_quoted = !is_quoted,
            b'{' | b'[' if !is_quoted => depth += 1,
            b'}' | b']' if !is_quoted => {
                depth -= 1;
                if depth == 0 {
                    return at + 1;
                }
            }
            _ => {}
        }
        at += 1;
    }
    bytes.len()
}

fn bare_end(text: &Source<'_>, start: usize) -> usize {
    let rest = &text[start..];
    let end = rest.char_indices().find(|(at, c)| match c {
        '&' | ';' | '"' | '\'' | '`' | '<' => true,
        // An escaped line end.
        '\\' => matches!(rest.as_bytes().get(at + 1), Some(b'n' | b'r')),
        ',' => is_next_of_list(&rest[at + 1..]),
        c => c.is_whitespace() || c.is_control(),
    });
    let word = &rest[..end.map_or(rest.len(), |(end, _)| end)];
    text.charge(word.len());
    // Punctuation at the end of a sentence.
    let closes: &[char] = if word.starts_with("${") {
        &[',', '.']
    } else {
        &[',', '.', ')', ']', '}', '!', '?', ':', '\\']
    };
    start + word.trim_end_matches(closes).len()
}

/// Whether another name follows a comma: `password=a,user=b`.
fn is_next_of_list(next: &str) -> bool {
    let name = next
        .bytes()
        .take(64)
        .take_while(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-'))
        .count();
    name > 0 && matches!(next.as_bytes().get(name), Some(b'=' | b':'))
}

/// The end of the line, or of the string around it.
pub(super) fn line_end(text: &Source<'_>, start: usize) -> usize {
    let length = line_length(&text[start..]);
    text.charge(length);
    start + length
}

/// The end of a header's line. The value may have quotes: `Digest username="x", …`. If the header
/// is inside a string, it ends with the string.
pub(super) fn header_end(text: &Source<'_>, name: usize, start: usize) -> usize {
    let bytes = text.as_bytes();
    let length = count_back(&bytes[..name], LINE, |byte| byte != b'\n');
    let line = &bytes[name - length..name];
    let is_quote = |byte: &u8| matches!(byte, b'"' | b'\'' | b'`');
    let rest = &text[start..];
    let end = start + length_up_to(rest, &[]);
    text.charge(length + end - start);
    let Some(at) = line.iter().rposition(is_quote) else {
        return end;
    };
    let depth_at = |at: usize| line[..at].iter().rev().take_while(|c| **c == b'\\').count();
    let (quote, depth) = (line[at], depth_at(at));
    let alike = |other: &usize| line[*other] == quote && depth_at(*other) == depth;
    let is_open = (0..line.len()).filter(alike).count() % 2 == 1;
    if is_open {
        quoted_end(&bytes[..end], start, quote, depth)
    } else {
        end
    }
}

/// How many bytes of a line are read before a name.
const LINE: usize = 256;

/// The length of the first line of a text.
pub(super) fn line_length(text: &str) -> usize {
    length_up_to(text, &['"', '\'', '`'])
}

fn length_up_to(text: &str, quotes: &[char]) -> usize {
    let end = text.char_indices().find(|(at, c)| match c {
        '\u{2028}' => true,
        c if quotes.contains(c) => true,
        '\\' => matches!(text.as_bytes().get(at + 1), Some(b'n' | b'r')),
        c => c.is_control() && *c != '\t',
    });
    let line = &text[..end.map_or(text.len(), |(end, _)| end)];
    line.trim_end_matches([' ', '\\']).len()
}

/// A value on the lines below its name, as in YAML: `|` and indented lines, or one word on the next
/// line.
pub(super) fn block(text: &Source<'_>, at: usize) -> Option<Range<usize>> {
    let rest = text[at..].trim_start_matches(' ');
    let marked = rest.trim_start_matches(['|', '>', '-', '+']);
    let is_marked = marked.len() < rest.len() && rest.starts_with(['|', '>']);
    let lines = if is_marked { marked } else { rest };
    let lines = lines
        .strip_prefix('\n')
        .or_else(|| lines.strip_prefix("\r\n"))
        .or_else(|| lines.strip_prefix("\\n"))?;
    let start = text.len() - lines.len();
    let indented = |line: &str| line.len() - line.trim_start_matches([' ', '\t']).len();
    let depth = indented(lines);
    if depth == 0 {
        return None;
    }
    let mut end = start;
    for line in lines.split_inclusive('\n') {
        if indented(line) < depth && !line.trim().is_empty() {
            break;
        }
        end += line.len();
        if !is_marked {
            break;
        }
    }
    text.charge(end - start);
    let block = text[start..end].trim_end();
    let word = block.trim_start().trim_start_matches("- ");
    let is_one =
        is_marked || !(word.contains(' ') || word.ends_with(':') || super::prose::is_word(word));
    let begin = start + block.len() - word.len();
    is_one.then_some(begin..start + block.len())
}
