//! Where in a JSON object a server may have put what it says of a failure.

use serde_json::{Map, Value};

type Object = Map<String, Value>;

/// Where an object speaks of the call itself, outermost first: at its top, in `error`, `data`,
/// `details` and `error.details`; and in the one object that it consists of, if a server puts all
/// it says under an error's name of its own (`adcp_error`).
///
/// Nothing else: an object under another name speaks of something else, as of a mail that could
/// not be sent after all the rest was done. So does one of a list, were it the only one in it: of
/// ten that were to be sent, the one that was not.
pub(super) fn of_the_call(object: &Object) -> impl Iterator<Item = &Object> {
    let only = match object.iter().next() {
        Some((key, Value::Object(only))) if object.len() == 1 && names_an_error(key) => Some(only),
        _ => None,
    };
    own(object).chain(only.into_iter().flat_map(own))
}

fn names_an_error(key: &str) -> bool {
    let end = key.len().checked_sub("error".len());
    end.and_then(|end| key.get(end..))
        .is_some_and(|end| end.eq_ignore_ascii_case("error"))
}

/// Where a wait may stand, or that a repeat is not fine: anywhere down to one level, and in the
/// `details` of whatever is there. To wait longer does no harm.
pub(super) fn of_hints(object: &Object) -> impl Iterator<Item = &Object> {
    let nested = object.values().filter_map(Value::as_object);
    let all = std::iter::once(object).chain(nested);
    all.clone().chain(all.flat_map(details))
}

fn own(object: &Object) -> impl Iterator<Item = &Object> {
    let inner = |key| object.get(key).and_then(Value::as_object);
    let error = inner("error");
    std::iter::once(object)
        .chain(error)
        .chain(inner("data"))
        .chain(inner("details"))
        .chain(error.and_then(|error| error.get("details")?.as_object()))
}

/// An object's `details`, which may be a list.
fn details(object: &Object) -> impl Iterator<Item = &Object> {
    let details = object
        .get("details")
        .map_or(&[][..], |details| match details {
            Value::Array(items) => items.as_slice(),
            one => std::slice::from_ref(one),
        });
    details.iter().filter_map(Value::as_object)
}

/// Compares a key with known ones: without case, `_` and `-`.
pub(super) fn is_one_of(known: &[&str], key: &str) -> bool {
    let letters = || {
        key.bytes()
            .filter(|byte| !matches!(byte, b'_' | b'-'))
            .map(|byte| byte.to_ascii_lowercase())
    };
    // A longer one is none, and costs nothing.
    key.len() <= 64 && known.iter().any(|known| letters().eq(known.bytes()))
}
