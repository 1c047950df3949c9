//! What a name means: by the user's [`Words`], else by the [`vocabulary`].

use super::{Words, vocabulary as known};
use crate::failure::{Class, Code, Delivery, is_same_word};
use std::slice;

impl Class {
    /// The class that a server's code means, if it is one of the table's, or a word that other
    /// public servers use for one of them.
    ///
    /// Case, `_`, `-` and blanks do not matter.
    #[must_use]
    pub fn from_code(code: &str) -> Option<Self> {
        Lookup::BUILT_IN.word(code).map(|(class, _)| class)
    }
}

/// What a bare number in a field counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Unit {
    Seconds,
    Milliseconds,
    Instant,
}

/// A class, and how far a call got by that.
pub(super) type Named = (Class, Delivery);

/// The names that are known.
#[derive(Clone, Copy, Debug)]
pub(super) struct Lookup<'a>(Option<&'a Words>);

impl<'a> Lookup<'a> {
    pub(super) const BUILT_IN: Self = Self(None);

    pub(super) fn with(words: Option<&'a Words>) -> Self {
        Self(words)
    }

    fn own<T>(self, list: fn(&Words) -> &Vec<T>) -> slice::Iter<'a, T> {
        self.0.map_or(&[][..], |words| list(words)).iter()
    }

    /// What a code means that is a word.
    pub(super) fn word(self, word: &str) -> Option<Named> {
        let is_it = |code: &Code| matches!(code, Code::Text(own) if is_same_word(own, word));
        let mut own = self.own(|words| &words.codes);
        if let Some((_, class, delivery)) = own.find(|(code, ..)| is_it(code)) {
            return Some((*class, *delivery));
        }
        if let Some(class) = Class::from_documented_code(word) {
            return Some((class, class.delivery()));
        }
        let mut codes = known::CODES.iter();
        let (_, class, delivery) = codes.find(|(code, ..)| is_same_word(code, word))?;
        Some((*class, *delivery))
    }

    /// Whether the word is one of the table's, and nothing else to the user.
    pub(super) fn is_documented(self, word: &str, class: Class) -> bool {
        let is_it = |code: &Code| matches!(code, Code::Text(own) if is_same_word(own, word));
        let is_own = self.own(|words| &words.codes).any(|(code, ..)| is_it(code));
        !is_own && Class::from_documented_code(word) == Some(class)
    }

    /// What a number means to the user.
    pub(super) fn own_number(self, number: i64) -> Option<Named> {
        let is_it = |code: &Code| *code == Code::Number(number);
        let mut own = self.own(|words| &words.codes);
        let (_, class, delivery) = own.find(|(code, ..)| is_it(code))?;
        Some((*class, *delivery))
    }

    /// What a text means to the user.
    pub(super) fn own_text(self, text: &str) -> Option<Named> {
        let mut own = self.own(|words| &words.texts);
        let (_, class, delivery) = own.find(|(beginning, ..)| text.starts_with(&**beginning))?;
        Some((*class, *delivery))
    }

    pub(super) fn is_code_field(self, key: &str) -> bool {
        is_one_of(known::CODE, key) || self.has(|words| &words.code_fields, key)
    }

    /// What a number in this field counts, if it is one for a wait.
    pub(super) fn unit(self, key: &str) -> Option<Unit> {
        if self.has(|words| &words.seconds, key) {
            Some(Unit::Seconds)
        } else if self.has(|words| &words.milliseconds, key) {
            Some(Unit::Milliseconds)
        } else if self.has(|words| &words.instants, key) {
            Some(Unit::Instant)
        } else if is_one_of(known::SECONDS, key) {
            Some(Unit::Seconds)
        } else if is_one_of(known::MILLISECONDS, key) {
            Some(Unit::Milliseconds)
        } else if is_one_of(known::INSTANTS, key) {
            Some(Unit::Instant)
        } else {
            None
        }
    }

    /// The names of the objects in which an envelope speaks of the call.
    pub(super) fn envelopes(self) -> impl Iterator<Item = &'a str> {
        let own = self.own(|words| &words.envelopes);
        own.map(|name| &**name).chain([known::ERROR])
    }

    fn has(self, list: fn(&Words) -> &Vec<String>, key: &str) -> bool {
        let mut own = self.own(list);
        own.any(|name| key.len() <= LONGEST && letters(key).eq(name.bytes()))
    }
}

/// A longer name is none, and costs nothing.
const LONGEST: usize = 64;

/// Compares a field with known ones.
pub(super) fn is_one_of(known: &[&str], key: &str) -> bool {
    key.len() <= LONGEST && known.iter().any(|known| letters(key).eq(known.bytes()))
}

/// What counts of a field's name.
pub(super) fn letters(key: &str) -> impl Iterator<Item = u8> {
    key.bytes()
        .filter(|byte| !matches!(byte, b'_' | b'-'))
        .map(|byte| byte.to_ascii_lowercase())
}
