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
    let mut total = Duration::ZERO;
    if rest.is_empty() {
        return None;
    }
    while !rest.is_empty() {
        let (amount, after) = rest.split_at(end_of_number(rest)?);
        let after = after.trim_start();
        let end = after
            .find(|c: char| !c.is_alphabetic())
            .unwrap_or(after.len());
        let (unit, after) = after.split_at(end);
        total = total.saturating_add(amount_of(amount, unit_nanos(unit)?)?);
        rest = after.trim_start();
    }
    Some(total)
}

/// Where the number ends that a text begins with; an exponent is a part of it.
fn end_of_number(text: &str) -> Option<usize> {
    let digits = text.find(|c: char| !c.is_ascii_digit() && c != '.')?;
    let exponent = text[digits..].strip_prefix(['e', 'E']).and_then(|rest| {
        let number = rest.strip_prefix(['+', '-']).unwrap_or(rest);
        let sign = rest.len() - number.len();
        let length = number.find(|c: char| !c.is_ascii_digit())?;
        (length > 0).then_some(1 + sign + length)
    });
    Some(digits + exponent.unwrap_or(0))
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
    amount_of(text.strip_prefix('+').unwrap_or(text), unit)
}

/// A number without a sign, times a unit.
fn amount_of(text: &str, unit: u128) -> Option<Duration> {
    decimal(text, unit).or_else(|| {
        // Only an exponent is left. `inf` and `nan` are no numbers here.
        let is_number = text.starts_with(|c: char| c.is_ascii_digit() || c == '.');
        is_number.then(|| from_float(text.parse().ok()?, unit))?
    })
}

/// Rounds up; what is too big saturates.
#[expect(
    clippy::cast_precision_loss,
    reason = "the units are small powers, and a float is only for exponents"
)]
fn from_float(number: f64, unit: u128) -> Option<Duration> {
    if number.is_nan() || number < 0.0 {
        return None;
    }
    let seconds = if unit < SECOND {
        number / (SECOND / unit) as f64
    } else {
        number * (unit / SECOND) as f64
    };
    let Ok(rounded) = Duration::try_from_secs_f64(seconds) else {
        return Some(Duration::MAX);
    };
    let is_short = rounded.as_secs_f64() < seconds;
    Some(rounded.saturating_add(Duration::from_nanos(is_short.into())))
}

/// `digits[.digits]` times a unit, rounded up; what is too big saturates.
fn decimal(text: &str, unit: u128) -> Option<Duration> {
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    let is_digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    let has_digits = !whole.is_empty() || !fraction.is_empty();
    if !has_digits || !is_digits(whole) || !is_digits(fraction) {
        return None;
    }
    // Eighteen places below the unit; whatever is left below that counts as one more.
    let (kept, lost) = fraction.split_at(fraction.len().min(18));
    let scale = 10_u128.pow(u32::try_from(kept.len()).ok()?);
    let part = digits(kept).saturating_mul(unit).div_ceil(scale);
    let more = u128::from(lost.bytes().any(|digit| digit != b'0'));
    let nanos = digits(whole)
        .saturating_mul(unit)
        .saturating_add(part)
        .saturating_add(more);
    Some(duration(nanos))
}

/// The number of a text of digits.
fn digits(text: &str) -> u128 {
    match text {
        "" => 0,
        // Only too many of them are no number.
        text => text.parse().unwrap_or(u128::MAX),
    }
}

fn duration(nanos: u128) -> Duration {
    let seconds = u64::try_from(nanos / SECOND);
    let rest = u32::try_from(nanos % SECOND);
    match (seconds, rest) {
        (Ok(seconds), Ok(rest)) => Duration::new(seconds, rest),
        _ => Duration::MAX,
    }
}
