//! The values that were masked in the arguments of a call, found again in other texts.

use super::{MASK, NAME_LIMIT, SCAN_LIMIT, first};
use std::{
    borrow::Cow,
    cmp::Reverse,
    fmt,
    sync::atomic::{AtomicUsize, Ordering::Relaxed},
};

/// So many values of one call are kept. Where there are more, long texts are masked as a whole.
const MOST: usize = 1024;

/// Shorter values are masked only where they stand as a word of their own.
const SHORT: usize = 4;

/// In a value this long, the case of letters does not matter.
const LONG: usize = 8;

/// A value that is cut at the end of a text is known by so many characters.
const BEGINNING: usize = 6;

/// How many comparisons all texts of a call may take. Then long texts are masked as a whole.
const STEPS: usize = 1 << 21;

/// Values that are not to be read anywhere else.
#[derive(Default)]
pub(crate) struct Secrets {
    values: Vec<Box<str>>,
    are_too_many: bool,
    steps: AtomicUsize,
}

impl Secrets {
    pub(crate) fn add(&mut self, value: &str) {
        let value = first(value.trim(), SCAN_LIMIT);
        if value.is_empty() || value == MASK || self.values.iter().any(|known| **known == *value) {
            return;
        }
        if self.values.len() == MOST {
            self.are_too_many = true;
        } else {
            self.values.push(value.into());
        }
    }

    /// The longest first: one may be the beginning of another.
    pub(crate) fn sorted(mut self) -> Self {
        self.values.sort_by_key(|value| Reverse(value.len()));
        self
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.values.is_empty()
    }

    /// Whether a number is one of the values. A short one may be there by chance.
    pub(crate) fn has_number(&self, digits: &str) -> bool {
        digits.len() >= SHORT && self.values.iter().any(|value| **value == *digits)
    }

    /// The text without the values: as they are, escaped as in JSON, by Rust's `Debug` or as in
    /// HTML, or percent-encoded.
    pub(crate) fn mask<'a>(&self, text: &'a str) -> Cow<'a, str> {
        let taken = self.steps.load(Relaxed);
        // A name stays readable.
        let is_name = text.len() <= NAME_LIMIT;
        if !is_name && (self.are_too_many || taken >= STEPS) {
            return Cow::Borrowed(MASK);
        }
        let mut out = String::new();
        let mut copied = 0;
        let mut at = 0;
        let most = if is_name { STEPS } else { STEPS - taken };
        let mut steps = most;
        while let Some(c) = text[at..].chars().next() {
            let mut values = self.values.iter();
            let found = values.find_map(|value| end_of(text, at, value, &mut steps));
            let Some(end) = found.or((steps == 0).then_some(text.len())) else {
                at += c.len_utf8();
                continue;
            };
            out.push_str(&text[copied..at]);
            out.push_str(MASK);
            (copied, at) = (end, end);
        }
        self.steps.fetch_add(most - steps, Relaxed);
        if copied == 0 {
            return Cow::Borrowed(text);
        }
        out.push_str(&text[copied..]);
        Cow::Owned(out)
    }
}

/// Where a value that begins there ends.
fn end_of(text: &str, from: usize, value: &str, steps: &mut usize) -> Option<usize> {
    // A sign that escapes others may stand for itself.
    let end = compared(text, from, value, steps, literal);
    end.or_else(|| compared(text, from, value, steps, encoded))
}

type Reading = fn(&str, char, bool) -> Option<usize>;

fn compared(
    text: &str,
    from: usize,
    value: &str,
    steps: &mut usize,
    read: Reading,
) -> Option<usize> {
    let is_short = value.len() < SHORT;
    let mut at = from;
    let mut before = '\0';
    for (seen, c) in value.chars().enumerate() {
        *steps = steps.checked_sub(1)?;
        // Any number of backslashes is one: JSON in JSON doubles them.
        if c == '\\' && before == '\\' {
            continue;
        }
        before = c;
        match read(&text[at..], c, value.len() >= LONG) {
            Some(length) => at += length,
            None if seen >= BEGINNING => return is_cut(text, at).then_some(at),
            None => return None,
        }
    }
    (!is_short || (is_edge(text, from) && is_edge(text, at))).then_some(at)
}

/// How long a character is as it is written there, if it is there: as it is, else escaped.
fn literal(rest: &str, c: char, ignores_case: bool) -> Option<usize> {
    itself(rest, c, ignores_case).or_else(|| escape_of(rest, c))
}

/// The same, escaped first.
fn encoded(rest: &str, c: char, ignores_case: bool) -> Option<usize> {
    escape_of(rest, c).or_else(|| itself(rest, c, ignores_case))
}

fn itself(rest: &str, c: char, ignores_case: bool) -> Option<usize> {
    let next = rest.chars().next()?;
    if c == '\\' && next == '\\' {
        return Some(rest.len() - rest.trim_start_matches('\\').len());
    }
    let is_same = next == c || (ignores_case && next.eq_ignore_ascii_case(&c));
    is_same.then_some(next.len_utf8())
}

fn escape_of(rest: &str, c: char) -> Option<usize> {
    match rest.as_bytes().first()? {
        b'+' if c == ' ' => Some(1),
        b'%' => percent_encoded(rest.as_bytes(), c),
        b'\\' => backslashed(rest, c),
        b'&' => {
            let entities: &[&str] = match c {
                '&' => &["&amp;"],
                '<' => &["&lt;"],
                '>' => &["&gt;"],
                '"' => &["&quot;", "&#34;"],
                '\'' => &["&#39;", "&apos;", "&#x27;"],
                _ => return None,
            };
            let found = entities.iter().find(|entity| rest.starts_with(**entity))?;
            Some(found.len())
        }
        _ => None,
    }
}

fn percent_encoded(rest: &[u8], c: char) -> Option<usize> {
    let mut bytes = [0; 4];
    let bytes = c.encode_utf8(&mut bytes).as_bytes();
    for (place, byte) in rest.chunks(3).zip(bytes) {
        let hex = place.strip_prefix(b"%").map(std::str::from_utf8)?.ok()?;
        if hex.len() != 2 || u8::from_str_radix(hex, 16) != Ok(*byte) {
            return None;
        }
    }
    (rest.len() >= 3 * bytes.len()).then_some(3 * bytes.len())
}

/// JSON in JSON doubles its backslashes, so any number of them is one.
fn backslashed(rest: &str, c: char) -> Option<usize> {
    let escape = rest.trim_start_matches('\\');
    let run = rest.len() - escape.len();
    let one = match escape.chars().next() {
        Some('n') => '\n',
        Some('r') => '\r',
        Some('t') => '\t',
        Some('b') => '\u{8}',
        Some('f') => '\u{c}',
        Some('u') => {
            let (code, length) = code_point(escape)?;
            if code == u32::from(c) {
                return Some(run + length);
            }
            let second = escape[length..].trim_start_matches('\\');
            let (low, more) = code_point(second)?;
            let pair = [u16::try_from(code).ok()?, u16::try_from(low).ok()?];
            let is_same = char::decode_utf16(pair).next() == Some(Ok(c));
            return is_same.then_some(rest.len() - second.len() + more);
        }
        Some(quoted @ ('"' | '\'' | '/')) => quoted,
        _ => return None,
    };
    (one == c).then_some(run + 1)
}

/// `u00e9` or `u{e9}`: its number and its length.
fn code_point(escape: &str) -> Option<(u32, usize)> {
    let digits = escape.strip_prefix('u')?;
    let (hex, length) = match digits.strip_prefix('{') {
        Some(inner) => {
            let hex = first(inner, 8).split_once('}')?.0;
            (hex, hex.len() + 3)
        }
        None => (digits.get(..4)?, 5),
    };
    Some((u32::from_str_radix(hex, 16).ok()?, length))
}

/// Whether no word goes on from one side of a place to the other.
fn is_edge(text: &str, at: usize) -> bool {
    let is_word = |c: Option<char>| c.is_some_and(|c| c.is_alphanumeric() || c == '_');
    !(is_word(text[..at].chars().next_back()) && is_word(text[at..].chars().next()))
}

/// Whether a text ends there, or what it quotes.
fn is_cut(text: &str, at: usize) -> bool {
    let rest = &text[at..];
    rest.is_empty() || rest.starts_with('…') || rest.starts_with("...")
}

impl fmt::Debug for Secrets {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} secrets", self.values.len())
    }
}
