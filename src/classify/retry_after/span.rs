//! Lengths of time in text, in whole nanoseconds: a float would round, and panic where it cannot.

use super::numbers::is_digits;
use std::time::Duration;

pub(super) const SECOND: u128 = 1_000_000_000;
pub(super) const MINUTE: u128 = 60 * SECOND;
pub(super) const HOUR: u128 = 60 * MINUTE;
pub(super) const DAY: u128 = 24 * HOUR;
const WEEK: u128 = 7 * DAY;
// The longest month and the longest year, as a wait is a floor.
const MONTH: u128 = 31 * DAY;
const YEAR: u128 = 366 * DAY;

/// The units of ISO 8601, before and after its `T`.
const DATE_UNITS: &[(char, u128)] = &[('y', YEAR), ('m', MONTH), ('w', WEEK), ('d', DAY)];
const TIME_UNITS: &[(char, u128)] = &[('h', HOUR), ('m', MINUTE), ('s', SECOND)];

/// A bare number of a unit: `30`, `1.5`, `3e1`.
pub(super) fn number(text: &str, unit: u128) -> Option<Duration> {
    let text = text.trim();
    amount_of(text.strip_prefix('+').unwrap_or(text), unit)
}

/// One or more numbers with their units: `58s`, `1m30s`, `500ms`, `1 min 30 sec`, `1h30`,
/// `1 hour and 30 minutes`, `1 day, 0:02:00`.
///
/// A comma or an `and` joins only a smaller unit to a larger one: `30s, 5s` is a list.
pub(super) fn with_units(text: &str) -> Option<Duration> {
    let mut rest = text.trim();
    let mut total = Duration::ZERO;
    let mut last = None;
    if rest.is_empty() {
        return None;
    }
    while !rest.is_empty() {
        let (is_joined, next) = joined(rest);
        if is_joined && last.is_none() {
            return None;
        }
        if let Some(time) = clock(next).filter(|_| last.is_none_or(|last| last >= DAY)) {
            return Some(total.saturating_add(time));
        }
        let Some(end) = end_of_number(next) else {
            let unit = last.filter(|_| !is_joined).and_then(next_smaller)?;
            return Some(total.saturating_add(decimal(next, unit)?));
        };
        let (amount, after) = next.split_at(end);
        let after = after.trim_start();
        let end = after.find(|c: char| !c.is_alphabetic());
        let (name, after) = after.split_at(end.unwrap_or(after.len()));
        let unit = unit_nanos(name)?;
        if is_joined && last.is_none_or(|last| unit >= last) {
            return None;
        }
        total = total.saturating_add(amount_of(amount, unit)?);
        last = Some(unit);
        rest = without_full_stop(after).trim_start();
    }
    Some(total)
}

/// The text after a comma or an `and`, and whether there is one.
fn joined(text: &str) -> (bool, &str) {
    let rest = text.strip_prefix(',').unwrap_or(text).trim_start();
    let rest = match rest.split_at_checked(4) {
        Some((and, rest)) if and.eq_ignore_ascii_case("and ") => rest.trim_start(),
        _ => rest,
    };
    (rest.len() < text.len(), rest)
}

/// The full stop of an abbreviation: `30 sec.`.
fn without_full_stop(text: &str) -> &str {
    let is_end = |rest: &&str| !rest.starts_with(|c: char| c.is_ascii_digit());
    text.strip_prefix('.').filter(is_end).unwrap_or(text)
}

/// The unit of a number without one that follows a number with one: `1h30`.
fn next_smaller(unit: u128) -> Option<u128> {
    match unit {
        DAY => Some(HOUR),
        HOUR => Some(MINUTE),
        MINUTE => Some(SECOND),
        _ => None,
    }
}

/// Hours, minutes and seconds: `00:02:00`. Days may come before a point: `1.00:02:00`.
pub(super) fn clock(text: &str) -> Option<Duration> {
    let mut pieces = text.trim().split(':');
    let (hours, minutes, seconds) = (pieces.next()?, pieces.next()?, pieces.next()?);
    let (days, hours) = hours.split_once('.').unwrap_or(("0", hours));
    let is_number = |text: &str| !text.is_empty() && is_digits(text);
    let is_below_60 = |text: &str| {
        let (whole, fraction) = text.split_once('.').unwrap_or((text, "0"));
        let number = whole.parse::<u8>();
        whole.len() == 2 && is_number(fraction) && number.is_ok_and(|number| number < 60)
    };
    let is_clock = is_number(days) && is_number(hours) && is_number(minutes);
    let is_whole = pieces.next().is_none();
    if !is_clock || !is_below_60(minutes) || !is_below_60(seconds) || !is_whole {
        return None;
    }
    let parts = [
        (days, DAY),
        (hours, HOUR),
        (minutes, MINUTE),
        (seconds, SECOND),
    ];
    let mut parts = parts.into_iter();
    parts.try_fold(Duration::ZERO, |total, (amount, unit)| {
        Some(total.saturating_add(decimal(amount, unit)?))
    })
}

/// A duration of ISO 8601: `PT2M`, `P1DT12H`, `P2W`.
pub(super) fn iso(text: &str) -> Option<Duration> {
    let text = text.trim().to_ascii_lowercase();
    let rest = text.strip_prefix('p')?;
    let (date, time) = rest.split_once('t').unwrap_or((rest, ""));
    if date.is_empty() && time.is_empty() {
        return None;
    }
    let mut total = Duration::ZERO;
    for (part, units) in [(date, DATE_UNITS), (time, TIME_UNITS)] {
        let mut rest = part;
        while !rest.is_empty() {
            let end = rest.find(|c: char| c.is_ascii_alphabetic())?;
            let (amount, after) = rest.split_at(end);
            let (letter, after) = after.split_at(1);
            let (_, unit) = units.iter().find(|(unit, _)| letter.starts_with(*unit))?;
            total = total.saturating_add(decimal(&amount.replace(',', "."), *unit)?);
            rest = after;
        }
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

/// The length of a unit, by its name or abbreviation.
pub(super) fn unit_nanos(unit: &str) -> Option<u128> {
    Some(match unit.to_ascii_lowercase().as_str() {
        "ns" | "nanos" | "nanosecond" | "nanoseconds" => 1,
        // The micro sign and the Greek letter.
        "us" | "\u{b5}s" | "\u{3bc}s" | "micros" | "microsecond" | "microseconds" => {
            SECOND / 1_000_000
        }
        "ms" | "msec" | "msecs" | "millis" | "millisecond" | "milliseconds" => SECOND / 1_000,
        "s" | "sec" | "secs" | "second" | "seconds" => SECOND,
        "m" | "min" | "mins" | "minute" | "minutes" => MINUTE,
        "h" | "hr" | "hrs" | "hour" | "hours" => HOUR,
        "d" | "day" | "days" => DAY,
        "w" | "wk" | "wks" | "week" | "weeks" => WEEK,
        "month" | "months" => MONTH,
        "y" | "yr" | "yrs" | "year" | "years" => YEAR,
        _ => return None,
    })
}

/// A number without a sign, times a unit.
fn amount_of(text: &str, unit: u128) -> Option<Duration> {
    decimal(text, unit).or_else(|| {
        // Only an exponent is left. `inf` and `nan` do not count as numbers.
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
    let has_digits = !whole.is_empty() || !fraction.is_empty();
    if !has_digits || !is_digits(whole) || !is_digits(fraction) {
        return None;
    }
    // Eighteen decimal places. A rest below them is rounded up.
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
        // Parsing fails only if there are too many digits.
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
