//! `<password>x</password>`, `<entry key="password">x</entry>`.

use super::{
    pairs,
    source::{Source, count_back},
};
use crate::text::keys::{self, Key};
use std::ops::Range;

/// Longer tags are ignored.
const LONGEST: usize = 256;

/// The content of the element whose start tag ends at `at`, if its name or an attribute names a
/// secret.
pub(super) fn content(text: &Source<'_>, at: usize) -> Option<Range<usize>> {
    let before = &text.as_bytes()[..at];
    let length = count_back(before, LONGEST, |byte| !matches!(byte, b'<' | b'>' | b'\n'));
    text.charge(length);
    let start = at - length;
    if !before[..start].ends_with(b"<") {
        return None;
    }
    let tag = &text[start..at];
    let (name, attributes) = tag.split_once([' ', '\t']).unwrap_or((tag, ""));
    let is_name = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.' | ':');
    if name.is_empty() || !name.chars().all(is_name) {
        return None;
    }
    let is_secret = keys::read(name) != Key::Harmless;
    if !is_secret && !names_a_secret(attributes) {
        return None;
    }
    let (start, end) = match text[at + 1..].strip_prefix(CDATA) {
        Some(rest) => (at + 1 + CDATA.len(), rest.find("]]>")?),
        None => (at + 1, text[at + 1..].find('<')?),
    };
    text.charge(end);
    let content = &text[start..start + end];
    // An element that is named by an attribute needs an end tag: `<input name="password">` has no
    // content.
    let is_whole = is_secret || text[start + end..].starts_with(&format!("</{name}"));
    (is_whole && !content.trim().is_empty()).then_some(start..start + end)
}

const CDATA: &str = "<![CDATA[";

/// `key="password"`.
fn names_a_secret(attributes: &str) -> bool {
    let mut rest = attributes;
    while let Some((name, after)) = rest.split_once('=') {
        let Some(quote) = after.chars().next().filter(|c| matches!(c, '"' | '\'')) else {
            return false;
        };
        let Some((value, more)) = after[1..].split_once(quote) else {
            return false;
        };
        if pairs::is_name(name.trim()) && pairs::names_a_secret(value) {
            return true;
        }
        rest = more;
    }
    false
}
