//! Where the value of a name ends.

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

/// The value that begins there, after spaces.
pub(super) fn at(text: &str, at: usize) -> Option<Value> {
    let bytes = text.as_bytes();
    let spaces = bytes[at..].iter().take(8);
    let spaces = spaces
        .take_while(|byte| matches!(byte, b' ' | b'\t'))
        .count();
    let start = skip_wrapper(bytes, at + spaces);
    let backslashes = bytes[start..]
        .iter()
        .take_while(|byte| **byte == b'\\')
        .count();
    match bytes.get(start + backslashes)? {
        quote @ (b'"' | b'\'' | b'`') => {
            let start = start + backslashes + 1;
            let end = quoted_end(bytes, start, *quote, backslashes);
            Some(Value {
                range: start..end,
                form: Form::Quoted,
            })
        }
        b'{' | b'[' if backslashes == 0 => {
            let end = group_end(bytes, start);
            Some(Value {
                range: start..end,
                form: Form::Group,
            })
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

/// `Some(`, `SecretString(`, and the letter of a kind of string: `b"`.
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
            Some(b'"') if name == 1 => start += 1,
            _ => break,
        }
    }
    start
}

/// The quote that closes, at the same depth of escapes as the one that opened.
fn quoted_end(bytes: &[u8], start: usize, quote: u8, depth: usize) -> usize {
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

fn bare_end(text: &str, start: usize) -> usize {
    let rest = &text[start..];
    let end = rest.find(|c: char| {
        c.is_whitespace() || c.is_control() || matches!(c, '&' | ';' | '"' | '\'' | '`' | '<')
    });
    let word = &rest[..end.unwrap_or(rest.len())];
    // An escaped end of a line.
    let word = ["\\n", "\\r"]
        .iter()
        .filter_map(|end| word.find(end))
        .min()
        .map_or(word, |end| &word[..end]);
    // The next of a list, and what closes a sentence.
    let word = next_of_list(word).map_or(word, |comma| &word[..comma]);
    let closes: &[char] = if word.starts_with("${") {
        &[',', '.']
    } else {
        &[',', '.', ')', ']', '}', '!', '?', ':', '\\']
    };
    start + word.trim_end_matches(closes).len()
}

/// The comma of `password=a,user=b`.
fn next_of_list(word: &str) -> Option<usize> {
    word.match_indices(',').map(|(at, _)| at).find(|at| {
        let next = &word[at + 1..];
        let name = next
            .bytes()
            .take_while(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-'))
            .count();
        name > 0 && matches!(next.as_bytes().get(name), Some(b'=' | b':'))
    })
}

/// The end of the line, or of the string in which it stands.
pub(super) fn line_end(text: &str, start: usize) -> usize {
    let rest = &text[start..];
    let end = rest.find(|c: char| {
        (c.is_control() && c != '\t') || matches!(c, '"' | '\'' | '`' | '\u{2028}')
    });
    let line = &rest[..end.unwrap_or(rest.len())];
    let line = ["\\n", "\\r"]
        .iter()
        .filter_map(|end| line.find(end))
        .min()
        .map_or(line, |end| &line[..end]);
    start + line.trim_end_matches([' ', '\\']).len()
}
