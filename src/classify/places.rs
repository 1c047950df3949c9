//! Where in a JSON object a server may have put what it says of a failure.

use serde_json::{Map, Value};

/// The object itself, the objects in it (`error`, `details`, `data`, a namespace of the server's
/// own), and the `details` of those, which may be a list.
pub(super) fn places(object: &Map<String, Value>) -> impl Iterator<Item = &Map<String, Value>> {
    let nested = object.values().filter_map(Value::as_object);
    let details = nested
        .clone()
        .filter_map(|inner| inner.get("details"))
        .flat_map(|details| match details {
            Value::Array(items) => items.as_slice(),
            one => std::slice::from_ref(one),
        })
        .filter_map(Value::as_object);
    std::iter::once(object).chain(nested).chain(details)
}

/// Compares a key with known ones: without case, `_` and `-`.
pub(super) fn is_one_of(known: &[&str], key: &str) -> bool {
    let letters = || {
        key.bytes()
            .filter(|byte| !matches!(byte, b'_' | b'-'))
            .map(|byte| byte.to_ascii_lowercase())
    };
    known.iter().any(|known| letters().eq(known.bytes()))
}
