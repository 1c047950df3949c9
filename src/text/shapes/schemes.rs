//! `Bearer …` and `Basic …`.

use super::{prose, source::Source};
use crate::text::{beginnings::Beginnings, first};
use std::ops::Range;

const NAMES: [&str; 2] = ["bearer", "basic"];

pub(super) static BEGINNINGS: Beginnings = Beginnings::NONE.with_all(&NAMES);

/// The credential after the name of its scheme.
pub(super) fn credential(text: &Source<'_>, at: usize) -> Option<Range<usize>> {
    let rest = &text[at..];
    let is_scheme = |name: &str| {
        rest.get(..name.len())
            .is_some_and(|word| word.eq_ignore_ascii_case(name))
    };
    let scheme = NAMES.into_iter().find(|name| is_scheme(name))?;
    let after = &rest[scheme.len()..];
    let near = first(after, 9);
    let gap = near
        .trim_start_matches([' ', '\t', '\u{a0}'])
        .trim_start_matches("%20")
        .trim_start_matches('+');
    let gap = near.len() - gap.len();
    if gap == 0 || gap > 8 {
        return None;
    }
    let value = &after[gap..];
    let length = value.bytes().take_while(|byte| is_part(*byte)).count();
    text.charge(2 * length);
    let word = value[..length].trim_end_matches(['.', '-', ':']);
    let is_whole = at == 0 && text.len() == at + scheme.len() + gap + word.len();
    let is_named = rest.starts_with('B');
    let is_one = match scheme {
        "basic" => is_basic(word),
        _ => is_bearer(word, is_named || is_whole),
    };
    let start = at + scheme.len() + gap;
    is_one.then_some(start..start + word.len())
}

fn is_part(byte: u8) -> bool {
    byte.is_ascii_alphanumeric()
        || matches!(
            byte,
            b'-' | b'.'
                | b'_'
                | b'~'
                | b'+'
                | b'/'
                | b'='
                | b'%'
                | b':'
                | b'!'
                | b'@'
                | b'#'
                | b'$'
                | b'*'
        )
}

fn is_bearer(word: &str, is_meant: bool) -> bool {
    if word.is_empty() || prose::is_word(word) {
        return false;
    }
    is_meant
        || word.len() >= 20
        || word
            .bytes()
            .any(|byte| byte.is_ascii_digit() || byte.is_ascii_uppercase())
}

/// Whether it is, or looks like, a user and a password in Base64.
fn is_basic(word: &str) -> bool {
    if prose::is_word(word) {
        return false;
    }
    if decoded(word).is_some_and(|text| text.contains(&b':')) {
        return true;
    }
    let has = |is_one: fn(&u8) -> bool| word.bytes().any(|byte| is_one(&byte));
    let is_shouted = word.len() >= 6 && !has(u8::is_ascii_lowercase) && has(u8::is_ascii_uppercase);
    is_shouted || (word.len() >= 8 && (has(u8::is_ascii_digit) || word.ends_with('=')))
}

/// Decodes Base64 in either alphabet.
pub(super) fn decoded(text: &str) -> Option<Vec<u8>> {
    let text = text.trim_end_matches('=');
    if text.len() < 3 || text.len() % 4 == 1 {
        return None;
    }
    let (mut bits, mut held) = (0_u32, 0_u32);
    let mut out = Vec::with_capacity(text.len());
    for byte in text.bytes() {
        let six = match byte {
            b'A'..=b'Z' => byte - b'A',
            b'a'..=b'z' => byte - b'a' + 26,
            b'0'..=b'9' => byte - b'0' + 52,
            b'+' | b'-' => 62,
            b'/' | b'_' => 63,
            _ => return None,
        };
        bits = bits << 6 | u32::from(six);
        held += 6;
        if held >= 8 {
            held -= 8;
            out.push(u8::try_from(bits >> held & 0xff).unwrap_or_default());
        }
    }
    Some(out)
}
