//! How long a server asks to wait, in every form in which servers say it.
//!
//! Nothing here panics, and nothing decides that a call may be repeated: a wait is only ever a
//! floor. A value that is negative or senseless is no hint; one that is too long for a [`Duration`]
//! is [`Duration::MAX`]: a server that means "never" is not asked earlier than one that says "in a
//! year". Fractions are rounded up to the next nanosecond.
//!
//! ```
//! use mcp_resilience::classify::retry_after;
//! use serde_json::json;
//! use std::time::Duration;
//!
//! let seconds = |n| Some(Duration::from_secs(n));
//! assert_eq!(retry_after::in_header("120"), seconds(120));
//! assert_eq!(retry_after::in_json(&json!({"retryAfter": 30})), seconds(30));
//! assert_eq!(retry_after::in_json(&json!({"error": {"retry_after_ms": 1500}})), Some(Duration::from_millis(1500)));
//! assert_eq!(retry_after::in_json(&json!({"data": {"retryDelay": "1m30s"}})), seconds(90));
//! assert_eq!(retry_after::in_json(&json!({"retryAfter": -1})), None);
//! ```

mod calendar;
mod date;
mod span;

use super::{
    lookup::{Lookup, Unit, is_one_of},
    places::{of_hints, of_the_call},
    vocabulary as known,
};
use crate::failure::RpcError;
use serde_json::{Map, Value};
use std::time::Duration;

/// The value of an HTTP `Retry-After` header: seconds, or a date (RFC 9110, section 10.2.3), or a list
/// of them, as intermediaries make of several headers. Of a list, the longest.
///
/// A date may end in `UTC` or an offset instead of `GMT`, lack its weekday, or be one of RFC 3339.
#[must_use]
pub fn in_header(value: &str) -> Option<Duration> {
    seconds_text(value)
}

/// The longest wait of several `Retry-After` headers.
///
/// ```
/// use mcp_resilience::classify::retry_after;
/// use std::time::Duration;
///
/// let headers = ["1", "Sun, 06 Nov 1994 08:49:37 GMT", "3"];
/// assert_eq!(retry_after::in_headers(headers), Some(Duration::from_secs(3)));
/// ```
#[must_use]
pub fn in_headers<'a>(values: impl IntoIterator<Item = &'a str>) -> Option<Duration> {
    values.into_iter().filter_map(in_header).max()
}

/// The `retryAfterMs` of a JSON-RPC error -32023. By its proposal it beats the header of the same
/// answer.
#[must_use]
pub fn in_rate_limited(error: &RpcError) -> Option<Duration> {
    let data = error.data.as_ref()?.as_object()?;
    let mut members = data
        .iter()
        .filter(|_| i64::from(error.code) == known::RATE_LIMITED);
    members.find_map(|(key, value)| {
        let is_it = is_one_of(&["retryafterms"], key);
        is_it.then(|| member(key, value, Lookup::BUILT_IN))?
    })
}

/// How many items of a list in a header are read.
const LONGEST_LIST: usize = 32;

/// The longest wait that an object asks for: at its top, in `error`, `details`, `error.details`,
/// `data`, or one level down under a name of the server's own.
#[must_use]
pub fn in_json(value: &Value) -> Option<Duration> {
    let places = of_the_call(value.as_object()?, Lookup::BUILT_IN);
    let objects = places.iter().flat_map(|place| of_hints(place.object));
    objects.filter_map(in_members).max()
}

fn in_members(object: &Map<String, Value>) -> Option<Duration> {
    object
        .iter()
        .filter_map(|(key, value)| member(key, value, Lookup::BUILT_IN))
        .max()
}

/// The wait in one member of an object, if its name is one for a wait.
pub(super) fn member(key: &str, value: &Value, lookup: Lookup<'_>) -> Option<Duration> {
    match (lookup.unit(key)?, value) {
        (Unit::Seconds, Value::Number(number)) => span::seconds(&number.to_string()),
        (Unit::Seconds, Value::String(text)) => seconds_text(text),
        (Unit::Milliseconds, Value::Number(number)) => span::milliseconds(&number.to_string()),
        (Unit::Milliseconds, Value::String(text)) => {
            let text = short(text)?;
            span::milliseconds(text).or_else(|| span::with_units(text))
        }
        (Unit::Instant, Value::Number(number)) => date::until_epoch(number.as_f64()?),
        (Unit::Instant, Value::String(text)) => {
            let text = short(text)?;
            date::until(text).or_else(|| {
                // `inf` and `nan` are no numbers here.
                let is_number = text.starts_with(|c: char| c.is_ascii_digit() || c == '.');
                is_number.then(|| date::until_epoch(text.parse().ok()?))?
            })
        }
        _ => None,
    }
}

/// A number that is too big, whatever its unit.
const TOO_BIG: &str = "9e999";

/// No form is longer than this. A longer text is prose, or a number that is too big.
const LONGEST: usize = 64;

fn short(text: &str) -> Option<&str> {
    let text = text.trim();
    if text.len() <= LONGEST {
        return Some(text);
    }
    let text = text.trim_start_matches('0');
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let unit = &text[digits..];
    match digits {
        0..LONGEST => (text.len() <= LONGEST).then_some(text),
        _ if unit.len() <= LONGEST && unit.chars().all(char::is_alphabetic) => Some(TOO_BIG),
        _ => None,
    }
}

fn seconds_text(text: &str) -> Option<Duration> {
    one(text).or_else(|| {
        // A date has a comma too; it is one without its weekday as well.
        let items = text.split(',').take(LONGEST_LIST);
        items.filter_map(one).max()
    })
}

fn one(text: &str) -> Option<Duration> {
    let text = short(text)?;
    span::seconds(text)
        .or_else(|| span::with_units(text))
        .or_else(|| date::until(text))
}
