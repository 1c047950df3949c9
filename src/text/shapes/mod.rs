//! Finds secrets in a text by their shape.
//!
//! One pass from left to right. A rule is tried at each character that may begin its shape, and
//! reads forward. Only a name before a `:` or `=` is read backward, at most for the length of a
//! name.

mod assigned;
mod commands;
mod element;
mod pairs;
mod pem;
mod prose;
mod refused;
mod schemes;
mod source;
mod spoken;
mod tokens;
mod url;
mod value;

pub(crate) use self::pairs::{is_name, is_value, names_a_secret};
pub(super) use self::prose::{is_random, is_word};
use self::{pairs::Pairs, source::Source};
use super::{SCAN_LIMIT, beginnings::Beginnings};
use std::ops::Range;

/// The ranges of the secrets in a text, in order. Does not allocate if there are none.
pub(super) fn find(text: &str) -> Vec<Range<usize>> {
    let mut scan = Scan::new(text);
    scan.run();
    scan.in_order()
}

/// Calls `see` with each secret in a text, and with each password inside of one that other texts
/// may quote alone. Returns whether there was a secret.
pub(super) fn each(text: &str, see: &mut dyn FnMut(&str)) -> bool {
    let found = find(text);
    let is_one = !found.is_empty();
    for range in found {
        let secret = &text[range.clone()];
        let before = &text[..range.start];
        see(secret);
        if before.ends_with("://")
            && let Some((_, password)) = secret.split_once(':')
        {
            see(password);
        }
        if let Some(pair) = schemes::decoded(secret)
            && let Some((_, password)) = std::str::from_utf8(&pair)
                .ok()
                .and_then(|pair| pair.split_once(':'))
        {
            see(password);
        }
    }
    is_one
}

/// The characters of words, and among them the underscore.
static OF_WORD: [u8; 256] = {
    let mut table = [0; 256];
    let mut byte = 0_u8;
    while byte < 128 {
        if byte.is_ascii_alphanumeric() {
            table[byte as usize] = LETTER;
        }
        byte += 1;
    }
    table[b'_' as usize] = UNDERSCORE;
    table
};
const LETTER: u8 = 1;
const UNDERSCORE: u8 = 2;

/// The beginnings of all words that a rule knows. Few words of prose have one.
static WORDS: Beginnings = Beginnings::NONE
    .with_small(&commands::BEGINNINGS)
    .with_small(&refused::BEGINNINGS)
    .with_small(&schemes::BEGINNINGS)
    .with_small(&spoken::BEGINNINGS)
    .with_small(&tokens::BEGINNINGS);

struct Scan<'t> {
    text: Source<'t>,
    bytes: &'t [u8],
    found: Vec<Range<usize>>,
    pairs: Pairs,
    /// Up to the place that is read.
    has_underscore: bool,
}

impl<'t> Scan<'t> {
    fn new(text: &'t str) -> Self {
        Self {
            text: Source::new(text),
            bytes: text.as_bytes(),
            found: Vec::new(),
            pairs: Pairs::default(),
            has_underscore: false,
        }
    }

    fn run(&mut self) {
        let mut at = 0;
        // After an escape, a word may begin between letters: `%20token`.
        let mut may_be_escaped = false;
        while let Some(&byte) = self.bytes.get(at) {
            let secret = match byte {
                b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'_' => {
                    let secret = self.word(at);
                    self.has_underscore |= byte == b'_';
                    if secret.is_none() && !may_be_escaped {
                        at += self.rest_of_word(at + 1);
                    }
                    secret
                }
                b':' | b'=' => self.separator(at),
                b'-' if self.bytes.get(at + 1) == Some(&b'>') => self.separator(at),
                b'-' => pem::block(&self.text, at).or_else(|| self.flag(at)),
                b' ' | b'\t' if self.has_underscore => spoken::after_identifier(&self.text, at),
                b'[' | b'(' => spoken::second(&self.text, at)
                    .or_else(|| spoken::shown(&self.text, at))
                    .or_else(|| (byte == b'(').then(|| refused::row(&self.text, at))?),
                b'@' => url::password(&self.text, at),
                0xef if self.is_wide_sign(at) => self.separator(at),
                b'>' => element::content(&self.text, at),
                b'{' | b'}' => {
                    self.pairs = Pairs::default();
                    if byte == b'{' && spoken::is_of_secret_type(&self.text, at) {
                        self.pairs = Pairs::of_secret();
                    }
                    None
                }
                b'%' | b'\\' => {
                    may_be_escaped = true;
                    if assigned::escaped_sign(&self.bytes[at..]).is_some() {
                        url::escaped_user(&self.text, at).or_else(|| self.separator(at))
                    } else {
                        None
                    }
                }
                _ => None,
            };
            at += 1;
            if let Some(secret) = secret {
                // The secret may end with an escape.
                may_be_escaped = true;
                // The value of a pair may come before its name.
                let end = at.max(secret.end);
                self.has_underscore |= self.bytes[at..end].contains(&b'_');
                at = end;
                self.found.push(secret);
            }
            if self.text.is_used_up() {
                // The last byte that was read may be inside a character.
                while !self.text.is_char_boundary(at) {
                    at += 1;
                }
                self.found.push(at..self.bytes.len());
                return;
            }
        }
    }

    /// A token of a known issuer, or a credential after the name of its scheme.
    #[inline]
    fn word(&self, at: usize) -> Option<Range<usize>> {
        if !WORDS.may_begin_in_any_case(&self.bytes[at..]) || !self.begins_word(at) {
            return None;
        }
        self.known_word(at)
    }

    fn known_word(&self, at: usize) -> Option<Range<usize>> {
        let first = self.bytes[at];
        let after_name = match first | 0x20 {
            b'b' => schemes::credential(&self.text, at),
            b'a' | b'o' | b'p' | b's' | b't' | b'v' => spoken::value(&self.text, at),
            b'i' => spoken::value(&self.text, at).or_else(|| refused::before_name(&self.text, at)),
            b'd' => refused::before_name(&self.text, at),
            _ => None,
        };
        let after_name = match first {
            b'A' | b'P' => after_name.or_else(|| commands::of_protocol(&self.text, at)),
            _ => after_name,
        };
        after_name.or_else(|| tokens::known(&self.text, at))
    }

    fn separator(&mut self, at: usize) -> Option<Range<usize>> {
        if let Some(user) = url::user(&self.text, at) {
            return Some(user);
        }
        let name = assigned::Name::before(&self.text, at)?;
        if let Some(input) = refused::input(&self.text, name.as_str(&self.text), name.start(), at) {
            return Some(input);
        }
        let key = name.as_str(&self.text);
        let is_paired = is_name(key) || is_value(key) || pairs::is_input(key);
        if !is_paired && !name.may_be_secret(&self.text) {
            return None;
        }
        if self.bytes[at] == b':'
            && name.is_of_secret(&self.text)
            && let Some(block) = value::block(&self.text, at + 1)
        {
            return Some(block);
        }
        let assignment = assigned::Assignment::of(&self.text, name, at)?;
        if is_paired {
            let pair = self.pairs.see(&self.text, &assignment);
            return pair.or_else(|| assignment.secret(&self.text));
        }
        assignment.secret(&self.text)
    }

    /// `＝` or `：`.
    fn is_wide_sign(&self, at: usize) -> bool {
        let rest = &self.bytes[at..];
        rest.starts_with("＝".as_bytes()) || rest.starts_with("：".as_bytes())
    }

    /// `--password value` or `-u user:password`, also as two strings of a list.
    fn flag(&self, at: usize) -> Option<Range<usize>> {
        if !self.begins_word(at) {
            return None;
        }
        let is_long = self.bytes.get(at + 1) == Some(&b'-');
        let name = at + 1 + usize::from(is_long);
        commands::flag(&self.text, name)
            .or_else(|| spoken::user(&self.text, name))
            .or_else(|| is_long.then(|| spoken::flag(&self.text, name))?)
    }

    /// How many more bytes the word has.
    fn rest_of_word(&mut self, at: usize) -> usize {
        let mut seen = 0;
        let rest = self.bytes[at..].iter();
        let is_over = |byte: &u8| {
            let class = OF_WORD[usize::from(*byte)];
            seen |= class;
            class == 0
        };
        let length = rest.clone().position(is_over).unwrap_or(rest.len());
        self.has_underscore |= seen & UNDERSCORE != 0;
        length
    }

    /// Whether a word may begin here. An escape before it is not part of the word.
    fn begins_word(&self, at: usize) -> bool {
        let back = |by: usize| at.checked_sub(by).map(|at| self.bytes[at]);
        match back(1) {
            Some(byte) if byte.is_ascii_alphanumeric() || byte == b'_' => {
                back(3) == Some(b'%')
                    || (back(2) == Some(b'\\') && matches!(byte, b'n' | b'r' | b't'))
            }
            Some(b'-') => self.bytes[at] != b'-',
            _ => true,
        }
    }

    fn in_order(mut self) -> Vec<Range<usize>> {
        self.found.sort_unstable_by_key(|range| range.start);
        let mut end = 0;
        self.found.retain(|range| {
            let is_new = range.start >= end && !range.is_empty();
            if is_new {
                end = range.end;
            }
            is_new
        });
        self.found
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// How many bytes the rules read in a text.
    fn cost(text: &str) -> usize {
        let mut scan = Scan::new(text);
        scan.run();
        scan.text.cost()
    }

    #[test]
    fn a_text_is_read_about_once_where_no_values_overlap() {
        let line =
            r#"{"name":"Dune","password":"hunter2","token":"abc"} key=1 code=2 x@y pin: 4711 "#;
        for times in [1, 10, 100] {
            let text = line.repeat(times);
            assert!(cost(&text) <= 2 * text.len(), "{}", cost(&text));
        }
    }

    #[test]
    fn what_is_not_read_any_more_begins_with_a_whole_character() {
        // The sign has three bytes, and charges for the rest of the text.
        for begin in ["", ";", ";;", ";;;"] {
            let text = format!("{begin}{}", ";key＝{".repeat(2048));
            let masked = crate::text::redacted(&text);
            assert!(masked.len() < text.len());
        }
    }

    #[test]
    fn what_is_read_for_tokens_that_are_none_counts() {
        let text = "xai-".repeat(4096);
        assert_eq!(cost(&text), 64 * SCAN_LIMIT);
    }
}
