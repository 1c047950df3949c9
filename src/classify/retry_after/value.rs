//! A wait in a value of JSON.

use super::{
    date,
    span::{self, DAY, HOUR, MINUTE, SECOND},
    text::{self, LONGEST_LIST},
};
use crate::classify::lookup::{Unit, is_one_of};
use serde_json::{Map, Value};
use std::time::Duration;

/// How far one goes into lists and objects.
const DEPTH: usize = 2;

/// The wait in a value whose bare numbers have this unit.
pub(super) fn read(value: &Value, unit: Unit) -> Option<Duration> {
    read_within(value, unit, DEPTH)
}

fn read_within(value: &Value, unit: Unit, depth: usize) -> Option<Duration> {
    match value {
        Value::Number(number) => bare(&number.to_string(), unit),
        Value::String(text) => text::read(text, |text| bare(text, unit)),
        Value::Array(items) if depth > 0 => {
            let items = items.iter().take(LONGEST_LIST);
            items
                .filter_map(|item| read_within(item, unit, depth - 1))
                .max()
        }
        Value::Object(object) if depth > 0 => in_object(object, unit, depth - 1),
        _ => None,
    }
}

fn bare(number: &str, unit: Unit) -> Option<Duration> {
    let nanos = match unit {
        Unit::Nanoseconds => 1,
        Unit::Microseconds => SECOND / 1_000_000,
        Unit::Milliseconds => SECOND / 1_000,
        Unit::Seconds => SECOND,
        Unit::Minutes => MINUTE,
        Unit::Hours => HOUR,
        Unit::Days => DAY,
        Unit::Instant => {
            // `inf` and `nan` do not count as numbers.
            let is_number = number.starts_with(|c: char| c.is_ascii_digit() || c == '.');
            return is_number.then(|| date::until_epoch(number.parse().ok()?))?;
        }
    };
    span::number(number, nanos)
}

/// `{"seconds": 30, "nanos": 5}`, `{"value": 2, "unit": "minutes"}`.
fn in_object(object: &Map<String, Value>, unit: Unit, depth: usize) -> Option<Duration> {
    if unit == Unit::Instant {
        return read_within(object.get("seconds")?, unit, depth);
    }
    let amount = |value: &Value, nanos| match value {
        Value::Number(number) => span::number(&number.to_string(), nanos),
        Value::String(text) => span::number(text, nanos),
        _ => None,
    };
    let parts = object.iter().filter_map(|(key, value)| {
        let nanos = span::unit_nanos(key)?;
        amount(value, nanos)
    });
    let sum = parts.reduce(Duration::saturating_add);
    sum.or_else(|| {
        let find = |names: &[&str]| {
            let mut members = object.iter();
            members.find_map(|(key, value)| is_one_of(names, key).then_some(value))
        };
        let value = find(&["value", "amount"])?;
        match find(&["unit", "units"]).and_then(Value::as_str) {
            Some(name) => amount(value, span::unit_nanos(name)?),
            None => read_within(value, unit, depth),
        }
    })
}
