//! Where in a JSON object a server may have put what it says of a failure.

use super::{
    lookup::Lookup,
    siblings::{names_an_error, tells_only_of_a_failure},
    vocabulary as known,
};
use serde_json::{Map, Value};

type Object = Map<String, Value>;

/// How far one goes into objects that hold nothing but one more.
const DEPTH: usize = 3;

/// An object that speaks of the call, or of a part of what was done.
#[derive(Clone, Copy)]
pub(super) struct Place<'a> {
    pub(super) object: &'a Object,
    /// Whether it speaks of the call itself. What stands in a part may be a call of the tool's own:
    /// that such a one was refused does not tell that the tool did not run.
    pub(super) is_the_call: bool,
    /// Whether it tells of the failure and of nothing else, and so do those around it. What stands
    /// beside other things may be of a part as well; only the user may know better.
    pub(super) is_alone: bool,
}

/// Where an object speaks of the call, outermost first.
///
/// Of the call itself: its top; its `error`; and whatever is the only thing in one of these, under
/// a protocol's name for it (`adcp_error`), or as `data` or `details`. Of the call or of a part of
/// what was done: what is the only thing under another name of an error (`mail_error`); `data` and
/// `details` that stand beside other things, and the first of `errors`; and all of it if anything in
/// it tells of something else than the failure.
///
/// Nothing else: an object under another name speaks of something else, as of a mail that could
/// not be sent after all the rest was done.
pub(super) fn of_the_call<'a>(object: &'a Object, lookup: Lookup<'_>) -> Vec<Place<'a>> {
    let mut places = Vec::with_capacity(4);
    let mut at = object;
    // An `error` beside other things is followed once, and not into one of its own.
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

/// The object under a name for an error.
fn envelope<'a>(object: &'a Object, lookup: Lookup<'_>) -> Option<&'a Object> {
    lookup
        .envelopes()
        .find_map(|name| object.get(name)?.as_object())
}

/// The one object that an object consists of.
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

/// Where it may stand that a repeat is not fine: as a wait, and one level deeper.
pub(super) fn of_cautions(object: &Object) -> impl Iterator<Item = &Object> {
    let nested = object.values().filter_map(Value::as_object);
    let deeper = nested.flat_map(|object| object.values().filter_map(Value::as_object));
    of_hints(object).chain(deeper)
}

/// Where a wait may stand: anywhere down to one level, and in the lists there that tell more. To wait
/// longer does no harm.
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
