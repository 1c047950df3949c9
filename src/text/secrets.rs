//! The values that were masked in the arguments of a call, found again in other texts.

use super::{MASK, NAME_LIMIT, SCAN_LIMIT, first, quoted::Quoted};
use std::{
    borrow::Cow,
    cmp::Reverse,
    fmt,
    sync::atomic::{AtomicUsize, Ordering::Relaxed},
};

/// So many values of one call are kept, and so many bytes of them. Where there are more, long texts are
/// masked as a whole.
const MOST: usize = 1024;
const MOST_BYTES: usize = 1024 * 1024;

/// Shorter values are masked only where they stand as a word of their own.
const SHORT: usize = 4;

/// The same for a word of small letters this short: it is part of others.
const WORD: usize = 6;

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
    bytes: usize,
    are_too_many: bool,
    steps: AtomicUsize,
}

impl Secrets {
    pub(crate) fn add(&mut self, value: &str) {
        let value = first(value.trim(), SCAN_LIMIT);
        if value.is_empty() || value == MASK || self.values.iter().any(|known| **known == *value) {
            return;
        }
        let bytes = self.bytes + value.len();
        if self.values.len() == MOST || bytes > MOST_BYTES {
            self.are_too_many = true;
        } else {
            self.values.push(value.into());
            self.bytes = bytes;
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
        let most = if is_name { STEPS } else { STEPS - taken };
        let mut steps = most;
        let masked = self.mask_within(text, &mut steps);
        self.steps.fetch_add(most - steps, Relaxed);
        masked
    }

    /// The same with so many comparisons, whoever counts them.
    pub(super) fn mask_within<'a>(&self, text: &'a str, steps: &mut usize) -> Cow<'a, str> {
        let mut out = String::new();
        let mut copied = 0;
        let mut at = 0;
        let mut quoted = Quoted::new(text, *steps);
        while let Some(c) = text[at..].chars().next() {
            let mut values = self.values.iter();
            let found = values.find_map(|value| end_of(&mut quoted, at, value));
            let Some(end) = found.or((quoted.steps == 0).then_some(text.len())) else {
                // Within a run of backslashes nothing begins that did not begin with it.
                at = match c {
                    // Without steps, the rest is masked next.
                    '\\' => quoted.run_end(at).unwrap_or(at),
                    c => at + c.len_utf8(),
                };
                continue;
            };
            out.push_str(&text[copied..at]);
            out.push_str(MASK);
            (copied, at) = (end, end);
        }
        *steps = quoted.steps;
        if copied == 0 {
            return Cow::Borrowed(text);
        }
        out.push_str(&text[copied..]);
        Cow::Owned(out)
    }
}

/// Where a value that begins there ends.
fn end_of(quoted: &mut Quoted<'_>, from: usize, value: &str) -> Option<usize> {
    // A sign that escapes others may stand for itself.
    let end = compared(quoted, from, value, Quoted::literal);
    end.or_else(|| compared(quoted, from, value, Quoted::encoded))
}

type Reading<'t> = fn(&mut Quoted<'t>, usize, char, bool) -> Option<usize>;

fn compared<'t>(
    quoted: &mut Quoted<'t>,
    from: usize,
    value: &str,
    read: Reading<'t>,
) -> Option<usize> {
    let is_word = |value: &str| value.bytes().all(|byte| byte.is_ascii_lowercase());
    let is_short = value.len() < SHORT || (value.len() < WORD && is_word(value));
    let mut at = from;
    let mut before = '\0';
    for (seen, c) in value.chars().enumerate() {
        quoted.steps = quoted.steps.checked_sub(1)?;
        // Any number of backslashes is one: JSON in JSON doubles them.
        if c == '\\' && before == '\\' {
            continue;
        }
        before = c;
        match read(quoted, at, c, value.len() >= LONG) {
            Some(length) => at += length,
            None if seen >= BEGINNING => return is_cut(quoted.text, at).then_some(at),
            None => return None,
        }
    }
    (!is_short || (is_edge(quoted.text, from) && is_edge(quoted.text, at))).then_some(at)
}

/// Whether no word goes on from one side of a place to the other.
fn is_edge(text: &str, at: usize) -> bool {
    let is_word = |c: Option<char>| c.is_some_and(|c| c.is_alphanumeric() || c == '_');
    !(is_word(text[..at].chars().next_back()) && is_word(text[at..].chars().next()))
}

/// Whether a text ends there, or what it quotes: `hunter…`, `hunter***`, `hunter[cut]`.
fn is_cut(text: &str, at: usize) -> bool {
    let rest = &text[at..];
    rest.is_empty()
        || rest.starts_with(['…', '*', '['])
        || ["...", " [trunc", " (trunc"]
            .iter()
            .any(|mark| rest.starts_with(mark))
}

impl fmt::Debug for Secrets {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} secrets", self.values.len())
    }
}
