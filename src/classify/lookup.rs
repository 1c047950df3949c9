//! The meaning of a name: by the user's [`Vocabulary`], else by the [`built_in`].

use super::{Vocabulary, built_in as known, named::Named, vocabulary::Meaning};
use crate::failure::{Class, Code, is_same_word};
use std::slice;

impl Class {
    /// The class of a server's code, if it is a code of the table, or of another known public server.
    ///
    /// Case, `_`, `-` and blanks are ignored.
    #[must_use]
    pub fn from_code(code: &str) -> Option<Self> {
        Lookup::BUILT_IN.word(code).map(|named| named.class)
    }
}

/// The unit of a bare number in a field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Unit {
    Nanoseconds,
    Microseconds,
    Milliseconds,
    Seconds,
    Minutes,
    Hours,
    Days,
    /// A point in time instead of a length.
    Instant,
}

/// The known names.
#[derive(Clone, Copy, Debug)]
pub(super) struct Lookup<'a>(Option<&'a Vocabulary>);

impl<'a> Lookup<'a> {
    pub(super) const BUILT_IN: Self = Self(None);

    pub(super) fn with(words: Option<&'a Vocabulary>) -> Self {
        Self(words)
    }

    fn own<T>(self, list: fn(&Vocabulary) -> &Vec<T>) -> slice::Iter<'a, T> {
        self.0.map_or(&[][..], |words| list(words)).iter()
    }

    /// The meaning of a code that is a word.
    pub(super) fn word(self, word: &str) -> Option<Named> {
        if let Some(own) = self.own_word(word) {
            return Some(own.named());
        }
        if let Some(class) = Class::from_documented_code(word) {
            let is_refusal = known::REFUSALS.iter().any(|code| is_same_word(code, word));
            return Some(if is_refusal {
                Named::refusal(class)
            } else {
                Named::of(class)
            });
        }
        let mut codes = known::CODES.iter();
        let (_, class) = codes.find(|(code, _)| is_same_word(code, word))?;
        Some(Named::unknown(*class))
    }

    /// The meaning of a word by the user's words.
    pub(super) fn own_word(self, word: &str) -> Option<&'a Meaning> {
        let is_it = |code: &Code| matches!(code, Code::Text(own) if is_same_word(own, word));
        let mut own = self.own(|words| &words.codes);
        own.find_map(|(code, meaning)| is_it(code).then_some(meaning))
    }

    /// The meaning of a number by the user's words.
    pub(super) fn own_number(self, number: i64) -> Option<&'a Meaning> {
        let is_it = |code: &Code| *code == Code::Number(number);
        let mut own = self.own(|words| &words.codes);
        own.find_map(|(code, meaning)| is_it(code).then_some(meaning))
    }

    /// The meaning of a text by the user's words.
    pub(super) fn own_text(self, text: &str) -> Option<Named> {
        let mut own = self.own(|words| &words.texts);
        let (_, meaning) = own.find(|(beginning, _)| text.starts_with(&**beginning))?;
        Some(meaning.named())
    }

    pub(super) fn is_code_field(self, key: &str) -> bool {
        is_one_of(known::CODE, key) || self.has(|words| &words.code_fields, key)
    }

    /// The unit of a number in this field, if it is a field of a wait.
    pub(super) fn unit(self, key: &str) -> Option<Unit> {
        if self.has(|words| &words.seconds, key) {
            Some(Unit::Seconds)
        } else if self.has(|words| &words.milliseconds, key) {
            Some(Unit::Milliseconds)
        } else if self.has(|words| &words.instants, key) {
            Some(Unit::Instant)
        } else {
            known_unit(key)
        }
    }

    /// The names of objects in which an envelope speaks of the call.
    pub(super) fn envelopes(self) -> impl Iterator<Item = &'a str> {
        let own = self.own(|words| &words.envelopes);
        own.map(|name| &**name).chain([known::ERROR])
    }

    fn has(self, list: fn(&Vocabulary) -> &Vec<String>, key: &str) -> bool {
        let mut own = self.own(list);
        own.any(|name| key.len() <= LONGEST && letters(key).eq(name.bytes()))
    }
}

/// The unit in a known field: a stem, and a unit or nothing.
fn known_unit(key: &str) -> Option<Unit> {
    let stems = known::WAITS.iter().map(|stem| (*stem, Some(Unit::Seconds)));
    let instants = known::INSTANTS
        .iter()
        .map(|stem| (*stem, Some(Unit::Instant)));
    let with_unit = known::WAITS_WITH_UNIT.iter().map(|stem| (*stem, None));
    let all = stems.chain(instants).chain(with_unit);
    // Most fields begin otherwise.
    if key.len() > LONGEST
        || !letters(key)
            .next()
            .is_some_and(|first| b"ranwtbc".contains(&first))
    {
        return None;
    }
    for (stem, of_stem) in all {
        let mut rest = letters(key);
        if !rest.by_ref().take(stem.len()).eq(stem.bytes()) {
            continue;
        }
        let mut units = known::UNITS.iter();
        let named = units.find(|(unit, _)| rest.clone().eq(unit.bytes()));
        match (of_stem, named) {
            (Some(unit), None) if rest.next().is_none() => return Some(unit),
            (Some(Unit::Instant), Some((_, _))) => return Some(Unit::Instant),
            (_, Some((_, unit))) => return Some(*unit),
            _ => {}
        }
    }
    None
}

/// A longer name is unknown, and costs nothing.
const LONGEST: usize = 64;

/// Compares a field with known ones.
pub(super) fn is_one_of(known: &[&str], key: &str) -> bool {
    key.len() <= LONGEST && known.iter().any(|known| letters(key).eq(known.bytes()))
}

/// The characters of a field's name that count.
pub(super) fn letters(key: &str) -> impl Iterator<Item = u8> + Clone {
    key.bytes()
        .filter(|byte| !matches!(byte, b'_' | b'-' | b' '))
        .map(|byte| byte.to_ascii_lowercase())
}
