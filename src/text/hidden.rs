//! Escapes invisible characters, and cuts texts at a limit.

use std::fmt::Write;

/// The first `limit` bytes of a text at most, cut between characters.
pub(crate) fn first(text: &str, limit: usize) -> &str {
    let mut end = limit.min(text.len());
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    &text[..end]
}

/// The last `limit` bytes of a text at most, cut between characters.
pub(super) fn last(text: &str, limit: usize) -> &str {
    let mut start = text.len().saturating_sub(limit);
    while !text.is_char_boundary(start) {
        start += 1;
    }
    &text[start..]
}

/// At most `limit` bytes of a text, with hidden characters written as `\u{…}`, except for those in
/// `kept`.
pub(crate) fn escaped(text: &str, limit: usize, kept: &[char]) -> String {
    let is_plain = |byte: u8| matches!(byte, b' '..=b'~');
    if text.len() <= limit && text.bytes().all(is_plain) {
        return text.to_owned();
    }
    let mut out = String::with_capacity(text.len().min(limit));
    let mut before = '\0';
    for c in text.chars() {
        if out.len() + c.len_utf8() > limit {
            out.push('…');
            break;
        }
        if is_hidden(before, c) && !kept.contains(&c) {
            // Writing to a string cannot fail.
            let _ = write!(out, "\\u{{{:x}}}", u32::from(c));
        } else {
            out.push(c);
        }
        before = c;
    }
    out
}

/// Whether `c` is invisible after the character `before`, or changes how its neighbours are shown:
/// a control character, a line separator, or a mark for the direction of the text.
///
/// Joiners and variation selectors are part of emoji and of some scripts. They count as visible
/// after a visible character outside of ASCII.
pub(crate) fn is_hidden(before: char, c: char) -> bool {
    if c.is_ascii() {
        return c.is_ascii_control();
    }
    if is_joining(c) {
        return before.is_ascii() || is_joining(before) || is_hidden('\0', before);
    }
    c.is_control() || is_invisible(c) || matches!(c, '\u{2028}' | '\u{2029}')
}

/// Whether a text has no visible character.
pub(crate) fn is_blank(text: &str) -> bool {
    text.chars().all(|c| {
        c.is_whitespace() || c.is_control() || is_joining(c) || is_invisible(c) || c == '\u{2800}'
    })
}

fn is_joining(c: char) -> bool {
    matches!(c, '\u{200c}' | '\u{200d}' | '\u{fe0e}' | '\u{fe0f}')
}

/// Unicode's default-ignorable characters, direction marks, and blank fillers.
fn is_invisible(c: char) -> bool {
    matches!(
        c,
        '\u{ad}'
            | '\u{34f}'
            | '\u{61c}'
            | '\u{115f}'
            | '\u{1160}'
            | '\u{17b4}'
            | '\u{17b5}'
            | '\u{180b}'..='\u{180f}'
            | '\u{200b}'
            | '\u{200e}'
            | '\u{200f}'
            | '\u{202a}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}'
            | '\u{3164}'
            | '\u{fe00}'..='\u{fe0d}'
            | '\u{feff}'
            | '\u{ffa0}'
            | '\u{fff0}'..='\u{fffb}'
            | '\u{1bca0}'..='\u{1bca3}'
            | '\u{1d173}'..='\u{1d17a}'
            | '\u{e0000}'..='\u{e0fff}'
    )
}
