//! Finds the secret values in the arguments of a call, by the names around them.

use crate::{
    call::Arguments,
    text::{self, Secrets},
};
use serde_json::{Map, Value};

/// How many values of one call are read, and how many bytes of their strings.
const MAX_VALUES: usize = 16 * 1024;
const MAX_BYTES: usize = 64 * 1024;

/// Parsers make no deeper ones.
const MAX_DEPTH: usize = 256;

/// Whether a member is secret: its key names a secret, or another member names it.
pub(super) fn is_secret(object: &Map<String, Value>, key: &str, value: &Value) -> bool {
    let is_named = match value {
        // A flag is not a secret.
        Value::Null | Value::Bool(_) => return false,
        Value::Number(_) => text::is_name_of_secret_number(key),
        _ => text::is_secret_name(key),
    };
    is_named || (text::is_value(key) && is_named_by_another(object))
}

/// `{"name": "Authorization", "value": "…"}`.
fn is_named_by_another(object: &Map<String, Value>) -> bool {
    object
        .iter()
        .any(|(key, value)| text::is_name(key) && value.as_str().is_some_and(text::names_a_secret))
}

/// Whether an item is secret: it follows a flag (`["--password", "…"]`), or the name of a header
/// (`["X-Api-Key", "…"]`).
pub(super) fn is_secret_item(items: &[Value], at: usize) -> bool {
    let Some(Value::String(before)) = at.checked_sub(1).map(|at| &items[at]) else {
        return false;
    };
    let is_flag = before.starts_with('-') && !before.contains(['=', ' ']);
    let is_header = items.len() == 2
        && (before.contains('-')
            || before.eq_ignore_ascii_case("authorization")
            || before.eq_ignore_ascii_case("cookie"));
    (is_flag || is_header)
        && text::is_secret_name(before)
        && items[at]
            .as_str()
            .is_some_and(|value| !value.starts_with('-'))
}

/// The result of reading all arguments.
#[derive(Default)]
pub(super) struct Found {
    /// The secret values, also those in the part of long arguments that is not logged.
    pub(super) secrets: Secrets,
    /// Whether every key and every value was read, and none is or has a secret. Then they need not be
    /// read again.
    pub(super) is_nothing: bool,
}

pub(super) fn collect(arguments: Arguments<'_>) -> Found {
    let mut walk = Walk {
        found: Found {
            secrets: Secrets::default(),
            is_nothing: true,
        },
        values: MAX_VALUES,
        bytes: MAX_BYTES,
        bytes_of_keys: MAX_BYTES,
    };
    match arguments {
        Arguments::Object(object) => walk.object(object, false, 0),
        Arguments::Value(value) => walk.value(value, false, 0),
    }
    walk.found
}

struct Walk {
    found: Found,
    values: usize,
    bytes: usize,
    bytes_of_keys: usize,
}

impl Walk {
    fn value(&mut self, value: &Value, is_secret: bool, depth: usize) {
        if self.values == 0 || depth == MAX_DEPTH {
            self.found.is_nothing = false;
            return;
        }
        self.values -= 1;
        match value {
            Value::Object(object) => self.object(object, is_secret, depth),
            Value::Array(items) => {
                for (at, item) in items.iter().enumerate() {
                    let is_secret = is_secret || is_secret_item(items, at);
                    self.found.is_nothing &= !is_secret;
                    self.value(item, is_secret, depth + 1);
                }
            }
            Value::String(text) if is_secret => {
                text::collect_secret(text, &mut self.found.secrets);
            }
            Value::String(text) => {
                let is_read = take(&mut self.bytes, text);
                if !is_read || text::collect(text, &mut self.found.secrets) {
                    self.found.is_nothing = false;
                }
            }
            Value::Number(number) if is_secret => self.found.secrets.add(&number.to_string()),
            Value::Number(_) | Value::Bool(_) | Value::Null => {}
        }
    }

    fn object(&mut self, object: &Map<String, Value>, is_secret: bool, depth: usize) {
        for (key, value) in object {
            if is_secret {
                if text::is_description(key) && !value.is_object() && !value.is_array() {
                    // `{"auth": {"type": "tool"}}`: an ordinary word.
                    continue;
                }
                if !text::is_field(key) {
                    self.found.secrets.add(key);
                }
            }
            let is_secret = is_secret || self::is_secret(object, key, value);
            self.found.is_nothing &= !is_secret;
            if self.found.is_nothing {
                self.found.is_nothing =
                    take(&mut self.bytes_of_keys, key) && !text::has_secret(key);
            }
            self.value(value, is_secret, depth + 1);
        }
    }
}

/// Whether a text may be read as well: it counts against the rest.
fn take(left: &mut usize, text: &str) -> bool {
    let rest = left.checked_sub(text.len().min(text::SCAN_LIMIT));
    *left = rest.unwrap_or(*left);
    rest.is_some()
}
