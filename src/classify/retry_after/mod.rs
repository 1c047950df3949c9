//! How long a server asks to wait, in all forms that servers use.
//!
//! Nothing here panics, and nothing here makes a call repeatable: a wait is only a floor. A negative
//! or senseless value is ignored. A wait that is too long for a [`Duration`] is [`Duration::MAX`].
//! Fractions are rounded up to the next nanosecond.
//!
//! # What is read
//!
//! | Form | Examples |
//! |---|---|
//! | a number, in the unit of the field's name (seconds in a header) | `120`, `1.5`, `3e1`, `1,000` |
//! | a length of time | `58s`, `1m30s`, `1h30`, `500ms`, `2 weeks`, `1 hour and 30 minutes`, `1 minute, 30 sec.` |
//! | a duration of ISO 8601; a month has 31 days, a year 366 | `PT2M`, `P1DT12H` |
//! | hours, minutes and seconds | `00:02:00`, `1.00:02:00`, `1 day, 0:02:00` |
//! | no end, which is [`Duration::MAX`] | `never`, `Infinity` |
//! | a date of HTTP, of RFC 3339, of ISO 8601's basic format, or nearly one | `Mon, 30 Nov 2099 22:50:00 GMT`, `2099-11-30T22:50:00+01:00[Europe/Berlin]`, `20991130T225000Z`, `Nov 30, 2099 10:50 PM` |
//! | a list of these; the longest counts | `5, 30` |
//!
//! Quotes around one of these, parameters (`120; x=y`) and a comment (`120 (approx)`) are ignored.
//!
//! If a date has several meanings, the last one counts, since a wait is a floor. An unknown name of a
//! zone is read as the westernmost zone, UTC-12, and so is a day without a time. `11/10/2099` is the
//! tenth of November. A date with a time and without a zone is in UTC.
//!
//! In JSON, the name of the field gives the unit of a number, without regard to case, `_`, `-` and
//! blanks:
//!
//! | Name | A number is |
//! |---|---|
//! | `retryAfter`, `retryDelay`, `retryIn`, `retryWait`, `nextRetryIn`, `tryAgainIn`, `resetIn`, `resetAfter` | seconds |
//! | one of these with a unit: `retryAfterMs`, `retry_delay_seconds`, `retryAfterInMinutes`; `wait`, `backoff`, `cooldown` and `after` only so: `wait_seconds` | as it says |
//! | `retryAt`, `nextRetryAt`, `tryAgainAt`, `resetAt`, `resetsAt`, `retryNotBefore`, `retryAfterDate`, `retryUntil` | seconds since the epoch from 100 million on, milliseconds from 100 billion on; less is seconds from now |
//!
//! The value may be a number, a text of any form above, a list of them (the longest counts), or an
//! object: `{"seconds": 30, "nanos": 5}`, `{"value": 2, "unit": "minutes"}`.
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
mod numbers;
mod span;
mod text;
mod value;
mod zone;

use super::{
    built_in as known,
    lookup::{Lookup, is_one_of},
    places::{of_hints, of_the_call},
};
use crate::failure::RpcError;
use serde_json::{Map, Value};
use std::time::Duration;

/// Reads an HTTP `Retry-After` header: seconds, or a date (RFC 9110, section 10.2.3), or a list of
/// them, as intermediaries make of several headers. The longest of a list counts.
///
/// Many servers send something else. The [module page](self) lists all forms.
#[must_use]
pub fn in_header(value: &str) -> Option<Duration> {
    text::read(value, |text| span::number(text, span::SECOND))
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

/// Reads the `retryAfterMs` of a JSON-RPC error -32023. By its proposal it wins over the header of
/// the same answer. Zero is not a wait, and does not win.
#[must_use]
pub fn in_rate_limited(error: &RpcError) -> Option<Duration> {
    let data = error.data.as_ref()?.as_object()?;
    let mut members = data
        .iter()
        .filter(|_| i64::from(error.code) == known::RATE_LIMITED);
    let wait = members.find_map(|(key, value)| {
        let is_it = is_one_of(&["retryafterms"], key);
        is_it.then(|| member(key, value, Lookup::BUILT_IN))?
    });
    wait.filter(|wait| !wait.is_zero())
}

/// The longest wait in an object: at its top, in `error`, `details`, `error.details` and `data`, or
/// one level down under a name of the server's own.
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
    value::read(value, lookup.unit(key)?)
}
