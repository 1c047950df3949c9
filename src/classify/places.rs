//! The places of an envelope in a JSON object.

use super::{
    built_in as known,
    lookup::Lookup,
    siblings::{names_an_error, tells_only_of_a_failure},
};
use serde_json::{Map, Value};

type Object = Map<String, Value>;

/// How deep objects with a single member are followed.
const DEPTH: usize = 3;

/// An object about the call, or about a part of the work.
#[derive(Clone, Copy)]
pub(super) struct Place<'a> {
    pub(super) object: &'a Object,
    /// Whether it is about the call itself. A part may be about a call of the tool's own. If that was
    /// refused, the tool may still have run.
    pub(super) is_the_call: bool,
    /// Whether it, and each object around it, describes the failure and nothing else. Beside other
    /// members it may be about a part. Only the user may know better.
    pub(super) is_alone: bool,
}

/// The objects that speak of the call, outermost first.
///
/// About the call itself: the top, its `error`, and an object that is the only member of one of these
/// under a protocol's name (`adcp_error`), or as `data` or `details`.
///
/// About the call or a part of the work: the only member under another name of an error
/// (`mail_error`), `data` and `details` beside other members, and the first of `errors`. If a
/// member describes something other than the failure, all objects are about a part of the call.
///
/// An object under another name speaks of something else, such as a mail that could not be sent after
/// the work was done.
pub(super) fn of_the_call<'a>(object: &'a Object, lookup: Lookup<'_>) -> Vec<Place<'a>> {
    let mut places = Vec::with_capacity(4);
    let mut at = object;
    // An `error` beside other members is followed once, and not into another one.
    let mut was_alone = true;
    let tells_nothing_else = tells_only_of_a_failure(object, lookup);
    for _ in 0..=DEPTH {
        places.push(Place {
            object: at,
            is_the_call: true,
            is_alone: tells_nothing_else,
        });
        let named = envelope(at, lookup).filter(|_| was_alone);
        let Some(inner) = named.or_else(|| only(at, lookup)) else {
            break;
        };
        was_alone = was_alone && at.len() == 1;
        at = inner;
    }
    for at in 0..places.len() {
        for part in parts(places[at].object) {
            let is_there = places.iter().any(|place| std::ptr::eq(place.object, part));
            if !is_there {
                places.push(Place {
                    object: part,
                    is_the_call: false,
                    is_alone: false,
                });
            }
        }
    }
    places
}

/// The object under a name of an error.
fn envelope<'a>(object: &'a Object, lookup: Lookup<'_>) -> Option<&'a Object> {
    lookup
        .envelopes()
        .find_map(|name| object.get(name)?.as_object())
}

/// The only member of an object, if that is an object.
fn only<'a>(object: &'a Object, lookup: Lookup<'_>) -> Option<&'a Object> {
    let (key, value) = object.iter().next().filter(|_| object.len() == 1)?;
    let is_named = names_an_error(key)
        || known::PARTS.contains(&key.as_str())
        || lookup.envelopes().any(|name| name == key);
    value.as_object().filter(|_| is_named)
}

fn parts(object: &Object) -> impl Iterator<Item = &Object> {
    let objects = known::PARTS.iter().filter_map(|name| object.get(*name));
    let lists = known::PART_LISTS.iter().filter_map(|name| {
        let list = object.get(*name)?.as_array()?;
        list.first()
    });
    objects.chain(lists).filter_map(Value::as_object)
}

/// The places where an answer may say that a repeat is not safe: those of a wait, and one level
/// deeper.
pub(super) fn of_cautions(object: &Object) -> impl Iterator<Item = &Object> {
    let nested = object.values().filter_map(Value::as_object);
    let deeper = nested.flat_map(|object| object.values().filter_map(Value::as_object));
    of_hints(object).chain(deeper)
}

/// The places of a wait: anywhere down to one level, and in known lists there. A longer wait does no
/// harm.
pub(super) fn of_hints(object: &Object) -> impl Iterator<Item = &Object> {
    let nested = object.values().filter_map(Value::as_object);
    let all = std::iter::once(object).chain(nested);
    all.clone().chain(all.flat_map(further))
}

fn further(object: &Object) -> impl Iterator<Item = &Object> {
    let lists = known::HINT_LISTS
        .iter()
        .filter_map(|name| object.get(*name));
    let items = lists.flat_map(|list| match list {
        Value::Array(items) => items.as_slice(),
        one => std::slice::from_ref(one),
    });
    items.filter_map(Value::as_object)
}
