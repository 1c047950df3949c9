//! `{"name": "Authorization", "value": "…"}`, in either order.

use super::assigned::Assignment;
use crate::text::keys::{self, Key};
use std::ops::Range;

const NAMES: &[&str] = &[
    "name",
    "key",
    "header",
    "field",
    "param",
    "parameter",
    "variable",
    "k",
    "header_name",
];
const VALUES: &[&str] = &["value", "val", "values", "v", "content", "header_value"];

/// Whether this member names the other one.
pub(crate) fn is_name(key: &str) -> bool {
    NAMES.iter().any(|name| key.eq_ignore_ascii_case(name))
}

/// Whether this member is the one that is named.
pub(crate) fn is_value(key: &str) -> bool {
    VALUES.iter().any(|name| key.eq_ignore_ascii_case(name))
}

/// What was seen of the object so far.
#[derive(Debug, Default)]
pub(super) struct Pairs {
    is_secret: bool,
    value: Option<Range<usize>>,
}

impl Pairs {
    /// What is seen of an object whose type says that it is secret.
    pub(super) fn of_secret() -> Self {
        Self {
            is_secret: true,
            value: None,
        }
    }

    /// The value, once it is known that it is secret.
    pub(super) fn see(&mut self, text: &str, member: &Assignment) -> Option<Range<usize>> {
        let key = member.name.as_str(text);
        let range = &member.value.range;
        if is_name(key) && keys::read(text.get(range.clone())?) != Key::Harmless {
            self.is_secret = true;
            return self.value.take();
        }
        if !is_value(key) {
            return None;
        }
        if self.is_secret {
            return Some(range.clone());
        }
        self.value = Some(range.clone());
        None
    }
}
