//! Finds values in a text, as they are or escaped.

use super::first;
use std::ops::Range;

/// No HTML entity is longer.
const LONGEST_ENTITY: usize = 12;

/// Compares characters in any escaped form, and counts the steps.
pub(super) struct Quoted<'t> {
    pub(super) text: &'t str,
    /// How many steps are left.
    pub(super) steps: usize,
    /// The last run of backslashes, kept because it is needed several times.
    run: Range<usize>,
}

impl<'t> Quoted<'t> {
    pub(super) fn new(text: &'t str, steps: usize) -> Self {
        Self {
            text,
            steps,
            run: 0..0,
        }
    }

    /// The length of `c` in the text at `at`, if it is there: first as itself, then escaped.
    pub(super) fn literal(&mut self, at: usize, c: char, ignores_case: bool) -> Option<usize> {
        self.itself(at, c, ignores_case)
            .or_else(|| self.escape_of(at, c))
    }

    /// The same, first escaped, then as itself.
    pub(super) fn encoded(&mut self, at: usize, c: char, ignores_case: bool) -> Option<usize> {
        self.escape_of(at, c)
            .or_else(|| self.itself(at, c, ignores_case))
    }

    fn itself(&mut self, at: usize, c: char, ignores_case: bool) -> Option<usize> {
        let next = self.text[at..].chars().next()?;
        if c == '\\' && next == '\\' {
            return Some(self.run_end(at)? - at);
        }
        let is_same = next == c || (ignores_case && next.eq_ignore_ascii_case(&c));
        is_same.then_some(next.len_utf8())
    }

    fn escape_of(&mut self, at: usize, c: char) -> Option<usize> {
        let rest = &self.text[at..];
        match rest.as_bytes().first()? {
            b'+' if c == ' ' => Some(1),
            b'%' => percent_encoded(rest.as_bytes(), c),
            b'\\' => self.backslashed(at, c),
            b'&' => entity(rest, c),
            _ => None,
        }
    }

    /// JSON in JSON doubles its backslashes, so any number of them counts as one.
    fn backslashed(&mut self, at: usize, c: char) -> Option<usize> {
        let run = self.run_end(at)?;
        let escape = &self.text[run..];
        let one = match escape.chars().next() {
            Some('n') => '\n',
            Some('r') => '\r',
            Some('t') => '\t',
            Some('b') => '\u{8}',
            Some('f') => '\u{c}',
            Some('u') => {
                let (code, length) = code_point(escape)?;
                let end = run + length;
                if code == u32::from(c) {
                    return Some(end - at);
                }
                let second = self.run_end(end)?;
                let (low, more) = code_point(&self.text[second..])?;
                let pair = [u16::try_from(code).ok()?, u16::try_from(low).ok()?];
                let is_same = char::decode_utf16(pair).next() == Some(Ok(c));
                return is_same.then_some(second + more - at);
            }
            Some(quoted @ ('"' | '\'' | '/')) => quoted,
            _ => return None,
        };
        (one == c).then_some(run + 1 - at)
    }

    /// The end of the backslashes at `at`. `None` if there are not enough steps left.
    pub(super) fn run_end(&mut self, at: usize) -> Option<usize> {
        if !self.run.contains(&at) {
            let run = self.text.as_bytes()[at..].iter();
            let length = run.take_while(|byte| **byte == b'\\').count();
            if let Some(left) = self.steps.checked_sub(length) {
                self.steps = left;
            } else {
                self.steps = 0;
                return None;
            }
            self.run = at..at + length;
        }
        Some(self.run.end)
    }
}

/// `&quot;`, `&#34;` or `&#x22;`.
fn entity(rest: &str, c: char) -> Option<usize> {
    let (name, _) = first(rest, LONGEST_ENTITY).split_once(';')?;
    let inner = name.strip_prefix('&')?;
    let is_it = match inner.strip_prefix('#') {
        Some(number) => {
            let code = match number.strip_prefix(['x', 'X']) {
                Some(hex) => u32::from_str_radix(hex, 16),
                None => number.parse(),
            };
            code == Ok(u32::from(c))
        }
        None => matches!(
            (inner, c),
            ("amp", '&') | ("lt", '<') | ("gt", '>') | ("quot", '"') | ("apos", '\'')
        ),
    };
    is_it.then_some(name.len() + 1)
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

/// Reads `u00e9` or `u{e9}`. Returns its code point and its length.
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
