use std::fmt::Write;

/// A text of a result longer than this is not read as JSON.
pub(crate) const SCAN_LIMIT: usize = 16 * 1024;

/// How much of somebody's text becomes a message.
pub(crate) const MESSAGE_LIMIT: usize = 4 * 1024;

/// How much of a name is shown or logged.
pub(crate) const NAME_LIMIT: usize = 256;

/// At most the first `limit` bytes of a text, in whole characters.
pub(crate) fn first(text: &str, limit: usize) -> &str {
    let mut end = limit.min(text.len());
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    &text[..end]
}

/// At most `limit` bytes of a text, with what is hidden in it spelled out but for the characters
/// in `kept`: a text comes from anywhere, and is read by models, terminals and line readers.
pub(crate) fn escaped(text: &str, limit: usize, kept: &[char]) -> String {
    let mut out = String::with_capacity(text.len().min(limit));
    for c in text.chars() {
        if out.len() + c.len_utf8() > limit {
            out.push('…');
            break;
        }
        if is_hidden(c) && !kept.contains(&c) {
            // Writing to a string cannot fail.
            let _ = write!(out, "\\u{{{:x}}}", u32::from(c));
        } else {
            out.push(c);
        }
    }
    out
}

/// Whether a character does something else than to be seen: a control, the end of a line to some
/// readers, or a mark that turns the direction of what is read, so that it reads as something else.
pub(crate) fn is_hidden(c: char) -> bool {
    c.is_control()
        || matches!(
            c,
            '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}'
        )
}
