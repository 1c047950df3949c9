//! Which values in the arguments of a call are secret by the names around them.

use crate::{
    call::Arguments,
    text::{self, Secrets},
};
use serde_json::{Map, Value};

/// How many values of one call are looked at, and how many bytes of their strings.
const MOST_VALUES: usize = 16 * 1024;
const MOST_BYTES: usize = 64 * 1024;

/// No parser makes deeper ones.
const MAX_DEPTH: usize = 256;

/// Whether a member is secret: its key names a secret, or another member names it.
pub(super) fn is_secret(object: &Map<String, Value>, key: &str, value: &Value) -> bool {
    let is_named = match value {
        // A flag is no secret.
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
        .any(|(key, value)| text::is_name(key) && value.as_str().is_some_and(text::is_secret_name))
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

/// The secret values, also in the part of long arguments that no line shows.
pub(super) fn collect(arguments: Arguments<'_>) -> Secrets {
    let mut walk = Walk {
        secrets: Secrets::default(),
        values: MOST_VALUES,
        bytes: MOST_BYTES,
    };
    match arguments {
        Arguments::Object(object) => walk.object(object, false, 0),
        Arguments::Value(value) => walk.value(value, false, 0),
    }
    walk.secrets
}

struct Walk {
    secrets: Secrets,
    values: usize,
    bytes: usize,
}

impl Walk {
    fn value(&mut self, value: &Value, is_secret: bool, depth: usize) {
        if self.values == 0 || depth == MAX_DEPTH {
            return;
        }
        self.values -= 1;
        match value {
            Value::Object(object) => self.object(object, is_secret, depth),
            Value::Array(items) => {
                for (at, item) in items.iter().enumerate() {
                    self.value(item, is_secret || is_secret_item(items, at), depth + 1);
                }
            }
            Value::String(text) if is_secret => text::collect_secret(text, &mut self.secrets),
            Value::String(text) => {
                if let Some(left) = self.bytes.checked_sub(text.len().min(text::SCAN_LIMIT)) {
                    self.bytes = left;
                    text::collect(text, &mut self.secrets);
                }
            }
            Value::Number(number) if is_secret => self.secrets.add(&number.to_string()),
            Value::Number(_) | Value::Bool(_) | Value::Null => {}
        }
    }

    fn object(&mut self, object: &Map<String, Value>, is_secret: bool, depth: usize) {
        for (key, value) in object {
            let is_secret = is_secret || self::is_secret(object, key, value);
            self.value(value, is_secret, depth + 1);
        }
    }
}
