use crate::text::first;
use std::ops::Range;

/// Longer user information is none.
const LONGEST: usize = 1024;

/// User names of URLs that everybody uses.
const NOBODY: &[&str] = &["git", "hg", "svn", "anonymous"];

/// The user information of a URL whose scheme ends there.
pub(super) fn user(text: &str, at: usize) -> Option<Range<usize>> {
    let rest = first(text.get(at..)?.strip_prefix("://")?, LONGEST);
    let start = at + "://".len();
    let rest = &rest[..rest.find(ends_url).unwrap_or(rest.len())];
    let host = rest.find(['/', '?', '#']).unwrap_or(rest.len());
    let end = match rest[..host].rfind('@') {
        Some(end) => end,
        // An unescaped `/` in a password: what follows the colon is no port.
        None if has_no_port(&rest[..host]) => rest.rfind('@')?,
        None => return None,
    };
    let user = &rest[..end];
    (!user.is_empty() && !NOBODY.contains(&user)).then_some(start..start + end)
}

fn ends_url(c: char) -> bool {
    c.is_whitespace() || c.is_control() || matches!(c, '"' | '\'' | '`' | '<' | '>' | '\\')
}

fn has_no_port(authority: &str) -> bool {
    // The colons of an IPv6 address stand in brackets.
    !authority.starts_with('[')
        && authority
            .split_once(':')
            .is_some_and(|(_, port)| port.bytes().any(|byte| !byte.is_ascii_digit()))
}
