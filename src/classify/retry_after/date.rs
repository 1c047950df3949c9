//! Points in time, converted to waits from now. A past time is a wait of zero.

use super::{
    calendar::{self, When},
    span,
};
use chrono::{DateTime, Datelike, Utc};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Numbers above these are milliseconds, microseconds and nanoseconds since the epoch. Each is the year
/// 5138 in the unit before.
const MILLISECONDS_FROM: f64 = 1e11;
const MICROSECONDS_FROM: f64 = 1e14;
const NANOSECONDS_FROM: f64 = 1e17;

/// Numbers below this are seconds from now; since the epoch it is a day of 1973.
const SINCE_EPOCH_FROM: f64 = 1e8;

/// A date of HTTP (all three forms) or of RFC 3339, also in the variants that servers send.
pub(super) fn until(text: &str) -> Option<Duration> {
    let now = now();
    let this_year = DateTime::<Utc>::from(now).year();
    Some(match calendar::read(text, this_year)? {
        When::At(at) => SystemTime::from(at).duration_since(now).unwrap_or_default(),
        When::Never => Duration::MAX,
    })
}

/// Seconds, milliseconds, microseconds or nanoseconds since the epoch, or seconds from now, by magnitude.
pub(super) fn until_epoch(number: f64) -> Option<Duration> {
    if number.is_nan() || number < 0.0 {
        return None;
    }
    if number < SINCE_EPOCH_FROM {
        return span::number(&number.to_string(), span::SECOND);
    }
    let seconds = match number {
        NANOSECONDS_FROM.. => number / 1e9,
        MICROSECONDS_FROM.. => number / 1e6,
        MILLISECONDS_FROM.. => number / 1e3,
        _ => number,
    };
    let since_epoch = Duration::try_from_secs_f64(seconds).unwrap_or(Duration::MAX);
    let at = UNIX_EPOCH.checked_add(since_epoch);
    Some(at.map_or(Duration::MAX, |at| {
        at.duration_since(now()).unwrap_or_default()
    }))
}

#[expect(
    clippy::disallowed_methods,
    reason = "a date says nothing without the wall clock; it is read once, and the wait is measured on the other clock"
)]
fn now() -> SystemTime {
    SystemTime::now()
}
