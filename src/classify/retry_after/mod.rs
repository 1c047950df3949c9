//! How long a server asks to wait, in every form in which servers say it.
//!
//! Nothing here panics, and nothing decides that a call may be repeated: a wait is only ever a
//! floor. A value that is negative, infinite, too long for a [`Duration`] or senseless is no hint.
//! Fractions are rounded up to the next nanosecond.
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

mod date;
mod span;

use super::{
    lookup::{Lookup, Unit},
    places::{of_hints, of_the_call},
};
use serde_json::{Map, Value};
use std::time::Duration;

/// The value of an HTTP `Retry-After` header: seconds, or a date (RFC 9110, section 10.2.3).
#[must_use]
pub fn in_header(value: &str) -> Option<Duration> {
    seconds_text(value)
}

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
            date::until(text).or_else(|| date::until_epoch(text.parse().ok()?))
        }
        _ => None,
    }
}

/// No form is longer; what is, is prose.
fn short(text: &str) -> Option<&str> {
    Some(text).filter(|text| text.len() <= 64).map(str::trim)
}

fn seconds_text(text: &str) -> Option<Duration> {
    let text = short(text)?;
    span::seconds(text)
        .or_else(|| span::with_units(text))
        .or_else(|| date::until(text))
}
