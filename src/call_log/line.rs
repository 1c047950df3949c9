use super::json::Writer;
use crate::failure::{Code, NAME_LIMIT};

/// A key that needs no escaping, with all that stands around it, so that it is written in one piece.
macro_rules! key {
    ($key:literal) => {
        concat!(",\"", $key, "\":")
    };
}
pub(super) use key;

const CODE_LIMIT: usize = 64;

/// The members of a line. Those without a value are left out.
pub(super) struct Line(pub(super) Writer);

impl Line {
    pub(super) fn with_capacity(capacity: usize) -> Self {
        Self(Writer::with_capacity(usize::MAX, capacity))
    }

    pub(super) fn text(&mut self, key: &'static str, value: &str, limit: usize) {
        self.0.known_key(key);
        self.0.string_within(value, limit);
    }

    /// One of our own words.
    pub(super) fn word(&mut self, key: &'static str, word: &str) {
        self.0.known_key(key);
        self.0.known_string(word);
    }

    pub(super) fn maybe(&mut self, key: &'static str, value: Option<&str>) {
        if let Some(value) = value {
            self.text(key, value, NAME_LIMIT);
        }
    }

    pub(super) fn json(&mut self, key: &'static str, value: Option<&str>) {
        if let Some(value) = value {
            self.0.known_key(key);
            self.0.literal(value);
        }
    }

    pub(super) fn flag(&mut self, key: &'static str, value: Option<bool>) {
        self.json(key, value.map(|is_so| if is_so { "true" } else { "false" }));
    }

    pub(super) fn number(&mut self, key: &'static str, number: impl itoa::Integer) {
        self.json(key, Some(itoa::Buffer::new().format(number)));
    }

    pub(super) fn code(&mut self, code: Option<&Code>) {
        match code {
            Some(Code::Text(text)) => self.text(key!("code"), text, CODE_LIMIT),
            Some(Code::Number(number)) => self.number(key!("code"), *number),
            None => {}
        }
    }
}
