//! `{"name": "Authorization", "value": "…"}`, in either order.

use super::assigned::Assignment;
use crate::text::{
    beginnings::Beginnings,
    keys::{self, Key},
};
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
    "headername",
    "fieldname",
    "label",
    "element",
    "selector",
    "loc",
];
const VALUES: &[&str] = &[
    "value",
    "val",
    "values",
    "v",
    "content",
    "text",
    "headervalue",
    "fieldvalue",
];

/// No such key is longer.
const LONGEST: usize = 16;

static NAME_BEGINNINGS: Beginnings = beginnings(NAMES);
static VALUE_BEGINNINGS: Beginnings = beginnings(VALUES);

/// Whether the member with this key holds the name of a pair.
pub(crate) fn is_name(key: &str) -> bool {
    is_one_of(NAMES, &NAME_BEGINNINGS, key)
}

/// Whether the member with this key holds the value of a pair.
pub(crate) fn is_value(key: &str) -> bool {
    is_one_of(VALUES, &VALUE_BEGINNINGS, key)
}

/// Whether the member with this key holds the input at a location that another member names.
pub(super) fn is_input(key: &str) -> bool {
    key == "input"
}

/// The beginnings of all names with at least two characters.
const fn beginnings(names: &[&str]) -> Beginnings {
    let mut all = Beginnings::NONE;
    let mut at = 0;
    while at < names.len() {
        if names[at].len() > 1 {
            all = all.with(names[at]);
        }
        at += 1;
    }
    all
}

fn is_one_of(names: &[&str], beginnings: &Beginnings, key: &str) -> bool {
    let key = key.trim_start_matches(['_', '-']);
    if key.len() > LONGEST || (key.len() > 1 && !beginnings.may_begin_in_any_case(key.as_bytes())) {
        return false;
    }
    let letters = || {
        let letters = key.bytes().filter(|byte| !matches!(byte, b'_' | b'-'));
        letters.map(|byte| byte.to_ascii_lowercase())
    };
    names.iter().any(|name| letters().eq(name.bytes()))
}

/// Whether the name of a pair, or the description of a form's field (`Password field`), names a
/// secret.
pub(crate) fn names_a_secret(name: &str) -> bool {
    // A path in a document ends with the name: `["body", "password"]`.
    let name = match name
        .strip_prefix('[')
        .and_then(|list| list.strip_suffix(']'))
    {
        Some(list) => list.rsplit(',').next().unwrap_or_default(),
        None => name,
    };
    let name = name.trim_matches([' ', '"', '\'']);
    let end = name.len().checked_sub(" field".len());
    let (kept, field) = end
        .and_then(|end| name.split_at_checked(end))
        .unwrap_or((name, ""));
    let name = if field.eq_ignore_ascii_case(" field") {
        kept
    } else {
        name
    };
    keys::read(name) != Key::Harmless
}

/// The members of the current object so far.
#[derive(Debug, Default)]
pub(super) struct Pairs {
    is_secret: bool,
    /// Whether it is an error with a location and the input at it.
    is_of_place: bool,
    value: Option<Range<usize>>,
}

impl Pairs {
    /// For an object whose type has the name of a secret.
    pub(super) fn of_secret() -> Self {
        Self {
            is_secret: true,
            is_of_place: false,
            value: None,
        }
    }

    /// Takes a member. Returns the range of the value once it is known to be secret.
    pub(super) fn see(&mut self, text: &str, member: &Assignment) -> Option<Range<usize>> {
        let key = member.name.as_str(text);
        let range = &member.value.range;
        if is_name(key) && names_a_secret(text.get(range.clone())?) {
            self.is_secret = true;
            self.is_of_place = matches!(key, "loc" | "field");
            return self.value.take();
        }
        if is_input(key) {
            return self.is_of_place.then(|| range.clone());
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
