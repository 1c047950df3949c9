//! Finds the values that were masked in the arguments of a call in other texts.

use super::{MASK, NAME_LIMIT, SCAN_LIMIT, first, quoted::Quoted};
use std::{
    borrow::Cow,
    cmp::Reverse,
    fmt,
    sync::atomic::{AtomicUsize, Ordering::Relaxed},
};

/// How many values of one call are kept, and how many bytes in all. If a call has more, long texts are
/// masked as a whole.
const MOST: usize = 1024;
const MOST_BYTES: usize = 1024 * 1024;

/// Shorter values are masked only as a whole word.
const SHORT: usize = 4;

/// The same for shorter values of lower-case letters: they are part of many other words.
const WORD: usize = 6;

/// Values at least this long are compared without case.
const LONG: usize = 8;

/// How many characters identify a value that is cut at the end of a text.
const BEGINNING: usize = 6;

/// How many comparisons all texts of a call may cost together. After that, long texts are masked as
/// a whole.
const STEPS: usize = 1 << 21;

/// Values to mask in other texts.
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

    /// Sorts the longest first, because one value may be the beginning of another.
    pub(crate) fn sorted(mut self) -> Self {
        self.values.sort_by_key(|value| Reverse(value.len()));
        self
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.values.is_empty()
    }

    /// Whether a number is one of the values. Short numbers do not count, since they may match by
    /// chance.
    pub(crate) fn has_number(&self, digits: &str) -> bool {
        digits.len() >= SHORT && self.values.iter().any(|value| **value == *digits)
    }

    /// Masks the values in the text, also if they are escaped as in JSON, in Rust's `Debug` or in
    /// HTML, or percent-encoded.
    pub(crate) fn mask<'a>(&self, text: &'a str) -> Cow<'a, str> {
        let taken = self.steps.load(Relaxed);
        // Names stay readable.
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

    /// The same with a limit of comparisons that the caller counts.
    pub(super) fn mask_within<'a>(&self, text: &'a str, steps: &mut usize) -> Cow<'a, str> {
        let mut out = String::new();
        let mut copied = 0;
        let mut at = 0;
        let mut quoted = Quoted::new(text, *steps);
        while let Some(c) = text[at..].chars().next() {
            let mut values = self.values.iter();
            let found = values.find_map(|value| end_of(&mut quoted, at, value));
            let Some(end) = found.or((quoted.steps == 0).then_some(text.len())) else {
                // No match can begin inside a run of backslashes.
                at = match c {
                    // If no steps are left, the next pass masks the rest.
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

/// The end of the value, if it begins at `from`.
fn end_of(quoted: &mut Quoted<'_>, from: usize, value: &str) -> Option<usize> {
    // An escape character may also stand for itself.
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
        // Any number of backslashes counts as one, since JSON in JSON doubles them.
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

/// Whether the position is not inside a word.
fn is_edge(text: &str, at: usize) -> bool {
    let is_word = |c: Option<char>| c.is_some_and(|c| c.is_alphanumeric() || c == '_');
    !(is_word(text[..at].chars().next_back()) && is_word(text[at..].chars().next()))
}

/// Whether the text or the quoted value is cut off here: `hunter…`, `hunter***`, `hunter[cut]`.
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
