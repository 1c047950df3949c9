use super::source::count_back;
use crate::text::first;
use std::ops::Range;

/// Longer user information is ignored.
const LONGEST: usize = 1024;

/// Common user names in URLs that are not secret.
const NOBODY: &[&str] = &["git", "hg", "svn", "anonymous"];

/// The user information of a URL whose scheme ends at `at`.
pub(super) fn user(text: &str, at: usize) -> Option<Range<usize>> {
    let rest = first(text.get(at..)?.strip_prefix("://")?, LONGEST);
    let start = at + "://".len();
    let rest = &rest[..rest.find(ends_url).unwrap_or(rest.len())];
    let host = rest.find(['/', '?', '#']).unwrap_or(rest.len());
    let end = match rest[..host].rfind('@') {
        Some(end) => end,
        // There may be an unescaped `/` in the password, since the text after the colon is not a
        // port.
        None if has_no_port(&rest[..host]) => rest.rfind('@')?,
        None => return None,
    };
    let user = &rest[..end];
    (!user.is_empty() && !NOBODY.contains(&user)).then_some(start..start + end)
}

/// The same in a URL that is a parameter of another URL: `https%3A%2F%2Femma%3Ax%40db.example`.
pub(super) fn escaped_user(text: &str, at: usize) -> Option<Range<usize>> {
    const SIGN: &str = "%3a%2f%2f";
    let sign = text.get(at..at + SIGN.len())?;
    let start = at + SIGN.len();
    let rest = first(&text[start..], LONGEST);
    let rest = &rest[..rest.find(|c| ends_url(c) || c == '&').unwrap_or(rest.len())];
    let host = rest.find("%2F").or_else(|| rest.find("%2f"));
    let end = rest[..host.unwrap_or(rest.len())].rfind("%40")?;
    (end > 0 && sign.eq_ignore_ascii_case(SIGN)).then_some(start..start + end)
}

fn ends_url(c: char) -> bool {
    c.is_whitespace() || c.is_control() || matches!(c, '"' | '\'' | '`' | '<' | '>' | '\\')
}

fn has_no_port(authority: &str) -> bool {
    // The colons of an IPv6 address are in brackets.
    !authority.starts_with('[')
        && authority
            .split_once(':')
            .is_some_and(|(_, port)| port.bytes().any(|byte| !byte.is_ascii_digit()))
}

/// Words before an address that are not a user name.
const LABELS: &[&str] = &[
    "mailto", "mail", "email", "to", "from", "cc", "bcc", "sip", "sips", "xmpp", "acct", "author",
    "by",
];

/// The password before an `@`, without a scheme: `user:x1y2z3@db.example`.
pub(super) fn password(text: &str, at: usize) -> Option<Range<usize>> {
    let before = &text.as_bytes()[..at];
    let length = count_back(before, 64, |byte| {
        byte.is_ascii_graphic() && !b":@/\"'<>(),;&?=".contains(&byte)
    });
    let before = before[..at - length].strip_suffix(b":")?;
    let name = count_back(before, 64, |byte| {
        byte.is_ascii_alphanumeric() || b"._-".contains(&byte)
    });
    let name = &text[before.len() - name..before.len()];
    let host = first(&text[at + 1..], 64);
    let end = host.find(|c: char| !(c.is_ascii_alphanumeric() || matches!(c, '.' | '-')));
    let host = host[..end.unwrap_or(host.len())].trim_end_matches('.');
    let is_host = host == "localhost" || (host.contains('.') && !host.starts_with('.'));
    let is_user = !name.is_empty() && !LABELS.iter().any(|label| name.eq_ignore_ascii_case(label));
    let start = at - length;
    (is_host && is_user && super::prose::is_random(&text[start..at])).then_some(start..at)
}
