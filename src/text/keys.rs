//! Decides by its name whether a value is secret.

use super::{
    beginnings::Beginnings,
    first,
    names::{ABOUT, ABOUT_FIRST, FOREIGN, MEASURES, TERMS, WHOLE, WORDS},
};
use arrayvec::ArrayVec;

/// The longest part of a name that is read.
const LONGEST: usize = 128;

/// What a name implies about its value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Key {
    Harmless,
    Secret,
    /// Secret unless it is a number: `tokens` may be a count.
    SecretUnlessCounted,
}

/// Reads a name in any case (`apiKey`, `API_KEY`, `api-key`, `api.key`).
pub(crate) fn read(name: &str) -> Key {
    if may_be_secret(name.as_bytes()) && name.is_ascii() {
        NameParts::of(name).read(false)
    } else if name.is_ascii() {
        Key::Harmless
    } else {
        foreign(name)
    }
}

/// Reads a name with letters outside of ASCII: of another script, with accents, or full-width.
#[cold]
fn foreign(name: &str) -> Key {
    let name = first(name, LONGEST);
    if FOREIGN.contains(&name.to_lowercase().as_str()) {
        return Key::Secret;
    }
    let plain = |c: char| match c {
        '\u{ff01}'..='\u{ff5e}' => char::from_u32(u32::from(c) - 0xfee0).unwrap_or(c),
        'ñ' | 'Ñ' => 'n',
        'é' | 'è' | 'ê' | 'É' => 'e',
        c if c.is_ascii() => c,
        _ => ' ',
    };
    let name: String = name.chars().map(plain).collect();
    if may_be_secret(name.as_bytes()) {
        NameParts::of(&name).read(false)
    } else {
        Key::Harmless
    }
}

/// Reads words of a sentence. They count only if the last word ends the name of a secret.
pub(crate) fn read_to_the_end(words: &str) -> Key {
    if may_be_secret(words.as_bytes()) {
        NameParts::of(words).read(true)
    } else {
        Key::Harmless
    }
}

/// The name of each secret contains one of these pairs of letters.
static PAIRS: Beginnings = Beginnings::NONE.with_all(&[
    "pa", "pw", "pi", "se", "to", "ke", "au", "cr", "co", "be", "ot", "jw", "si", "ds", "mn", "cv",
    "ss", "hm",
]);

fn may_be_secret(name: &[u8]) -> bool {
    name.windows(2)
        .any(|pair| PAIRS.has(pair[0] | 0x20, pair[1] | 0x20))
}

/// The words of a name, in lower case and without separators.
struct NameParts {
    letters: ArrayVec<u8, LONGEST>,
    ends: ArrayVec<u8, LONGEST>,
}

impl NameParts {
    fn of(name: &str) -> Self {
        let mut words = Self {
            letters: ArrayVec::new(),
            ends: ArrayVec::new(),
        };
        let bytes = name.as_bytes();
        // The end of a long name decides.
        let bytes = &bytes[bytes.len().saturating_sub(LONGEST)..];
        for (at, &byte) in bytes.iter().enumerate() {
            let before = at.checked_sub(1).map_or(0, |at| bytes[at]);
            let after = bytes.get(at + 1).copied().unwrap_or(0);
            let begins = byte.is_ascii_uppercase()
                && (!before.is_ascii_uppercase() || after.is_ascii_lowercase());
            if begins || !byte.is_ascii_alphanumeric() {
                words.end();
            }
            // Digits are ignored, as in `password2`.
            if byte.is_ascii_alphabetic() {
                words.letters.push(byte.to_ascii_lowercase());
            }
        }
        words.end();
        words
    }

    fn end(&mut self) {
        let length = u8::try_from(self.letters.len()).unwrap_or(u8::MAX);
        if self.ends.last().copied().unwrap_or(0) < length {
            self.ends.push(length);
        }
    }

    fn read(&self, to_the_end: bool) -> Key {
        let mut begin = 0;
        for (at, &end) in self.ends.iter().enumerate() {
            let end = usize::from(end);
            let upto = &self.letters[..end];
            let word = &self.letters[begin..end];
            let is_named = ends_in_one(upto, TERMS)
                || upto
                    .strip_suffix(b"s")
                    .is_some_and(|one| ends_in_one(one, TERMS))
                || (at + 1 == self.ends.len() && WORDS.iter().any(|name| name.as_bytes() == word))
                || (self.ends.len() == 1 && WHOLE.iter().any(|name| name.as_bytes() == word))
                || self.is_signature(at, word);
            let counts = !to_the_end || at + 1 == self.ends.len();
            if is_named && counts && !self.is_about(at) {
                return if word == b"tokens" {
                    Key::SecretUnlessCounted
                } else {
                    Key::Secret
                };
            }
            begin = end;
        }
        Key::Harmless
    }

    /// Whether it is the signature of a request, and not of a function.
    fn is_signature(&self, at: usize, word: &[u8]) -> bool {
        matches!(word, b"signature" | b"sig")
            && (0..at).any(|before| {
                matches!(
                    self.word(before),
                    b"amz" | b"goog" | b"hub" | b"hmac" | b"request" | b"webhook" | b"x"
                )
            })
    }

    fn is_about(&self, at: usize) -> bool {
        let is_one =
            |at: usize, of: &[&str]| of.iter().any(|word| word.as_bytes() == self.word(at));
        let last = self.ends.len() - 1;
        last > at && (is_one(last, ABOUT) || is_one(at + 1, MEASURES))
            || (at > 0 && is_one(0, ABOUT_FIRST))
            || (at > 1 && self.word(at - 1) != b"number" && is_one(at - 1, ABOUT_FIRST))
    }

    fn word(&self, at: usize) -> &[u8] {
        let begin = at.checked_sub(1).map_or(0, |at| usize::from(self.ends[at]));
        &self.letters[begin..usize::from(self.ends[at])]
    }
}

fn ends_in_one(letters: &[u8], of: &[&str]) -> bool {
    of.iter().any(|term| letters.ends_with(term.as_bytes()))
}
