use std::fmt::Write;

/// At most `limit` bytes of a text, on one or more lines, with its control characters spelled
/// out: a message comes from anywhere, and is read by models and terminals.
pub(super) fn escaped(text: &str, limit: usize) -> String {
    let mut out = String::with_capacity(text.len().min(limit));
    for c in text.chars() {
        if out.len() + c.len_utf8() > limit {
            out.push('…');
            break;
        }
        if c.is_control() && !matches!(c, '\n' | '\t') {
            // Writing to a string cannot fail.
            let _ = write!(out, "\\u{{{:x}}}", u32::from(c));
        } else {
            out.push(c);
        }
    }
    out
}
