//! Points in time, made into waits from now. One that is past is a wait of zero.

use chrono::{DateTime, Utc};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Numbers above this are milliseconds since the epoch; as seconds it is the year 5138.
const MILLISECONDS_FROM: f64 = 1e11;

/// A date of HTTP (all three forms) or of RFC 3339.
pub(super) fn until(text: &str) -> Option<Duration> {
    let at = httpdate::parse_http_date(text).ok().or_else(|| {
        let date = DateTime::parse_from_rfc3339(text).ok()?;
        Some(SystemTime::from(date.with_timezone(&Utc)))
    })?;
    Some(at.duration_since(now()).unwrap_or_default())
}

/// Seconds or milliseconds since the epoch, by magnitude.
pub(super) fn until_epoch(number: f64) -> Option<Duration> {
    let seconds = if number.abs() >= MILLISECONDS_FROM {
        number / 1e3
    } else {
        number
    };
    let since_epoch = Duration::try_from_secs_f64(seconds).ok()?;
    let at = UNIX_EPOCH.checked_add(since_epoch)?;
    Some(at.duration_since(now()).unwrap_or_default())
}

#[expect(
    clippy::disallowed_methods,
    reason = "a date says nothing without the wall clock; it is read once, and the wait is measured on the other clock"
)]
fn now() -> SystemTime {
    SystemTime::now()
}
