//! Lengths of time in text, in whole nanoseconds: a float would round, and panic where it cannot.

use std::time::Duration;

const SECOND: u128 = 1_000_000_000;

/// A bare number of seconds: `30`, `1.5`, `3e1`.
pub(super) fn seconds(text: &str) -> Option<Duration> {
    bare(text, SECOND)
}

/// A bare number of milliseconds.
pub(super) fn milliseconds(text: &str) -> Option<Duration> {
    bare(text, SECOND / 1_000)
}

/// One or more numbers with their units: `58s`, `1m30s`, `500ms`, `1 min 30 sec`.
pub(super) fn with_units(text: &str) -> Option<Duration> {
    let mut rest = text.trim();
    let mut nanos = 0_u128;
    if rest.is_empty() {
        return None;
    }
    while !rest.is_empty() {
        let digits = rest.find(|c: char| !c.is_ascii_digit() && c != '.')?;
        let (amount, after) = rest.split_at(digits);
        let after = after.trim_start();
        let end = after
            .find(|c: char| !c.is_alphabetic())
            .unwrap_or(after.len());
        let (unit, after) = after.split_at(end);
        nanos = nanos.checked_add(decimal(amount, unit_nanos(unit)?)?)?;
        rest = after.trim_start();
    }
    duration(nanos)
}

fn unit_nanos(unit: &str) -> Option<u128> {
    Some(match unit.to_ascii_lowercase().as_str() {
        "ns" => 1,
        // The micro sign and the Greek letter.
        "us" | "\u{b5}s" | "\u{3bc}s" => SECOND / 1_000_000,
        "ms" | "msec" | "millis" | "millisecond" | "milliseconds" => SECOND / 1_000,
        "s" | "sec" | "secs" | "second" | "seconds" => SECOND,
        "m" | "min" | "mins" | "minute" | "minutes" => 60 * SECOND,
        "h" | "hr" | "hrs" | "hour" | "hours" => 3_600 * SECOND,
        "d" | "day" | "days" => 86_400 * SECOND,
        _ => return None,
    })
}

fn bare(text: &str, unit: u128) -> Option<Duration> {
    let text = text.trim();
    let text = text.strip_prefix('+').unwrap_or(text);
    match decimal(text, unit) {
        Some(nanos) => duration(nanos),
        // No second sign; only an exponent, or more digits than there are nanoseconds.
        None if text.starts_with(['+', '-']) => None,
        None => from_float(text.parse().ok()?, unit),
    }
}

/// Refuses what is negative, infinite or no number; rounds up.
fn from_float(number: f64, unit: u128) -> Option<Duration> {
    let per_second = if unit == SECOND { 1.0 } else { 1e3 };
    let seconds = number / per_second;
    let rounded = Duration::try_from_secs_f64(seconds).ok()?;
    let is_short = rounded.as_secs_f64() < seconds;
    rounded.checked_add(Duration::from_nanos(is_short.into()))
}

/// `digits[.digits]` times a unit, rounded up.
fn decimal(text: &str, unit: u128) -> Option<u128> {
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    let is_digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    let has_digits = !whole.is_empty() || !fraction.is_empty();
    if !has_digits || !is_digits(whole) || !is_digits(fraction) {
        return None;
    }
    // Eighteen places below the unit; whatever is left below that counts as one more.
    let (kept, lost) = fraction.split_at(fraction.len().min(18));
    let scale = 10_u128.pow(u32::try_from(kept.len()).ok()?);
    let part = digits(kept)?.checked_mul(unit)?.div_ceil(scale);
    let more = u128::from(lost.bytes().any(|digit| digit != b'0'));
    digits(whole)?
        .checked_mul(unit)?
        .checked_add(part)?
        .checked_add(more)
}

fn digits(text: &str) -> Option<u128> {
    match text {
        "" => Some(0),
        text => text.parse().ok(),
    }
}

fn duration(nanos: u128) -> Option<Duration> {
    let seconds = u64::try_from(nanos / SECOND).ok()?;
    let rest = u32::try_from(nanos % SECOND).ok()?;
    Some(Duration::new(seconds, rest))
}
