//! How long a server asks to wait.

use mcp_resilience::classify::retry_after::{in_header, in_json};
use serde_json::{Number, Value, json};
use std::time::Duration;

const SECOND: u128 = 1_000_000_000;

/// The expected wait in nanoseconds, rounded up, by independent arithmetic.
fn asked(whole: &str, fraction: &str, unit: u128) -> Option<u128> {
    let is_digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    // As many digits as these numbers can have.
    if !is_digits(whole) || !is_digits(fraction) || whole.len() > 20 || fraction.len() > 17 {
        return None;
    }
    if whole.is_empty() && fraction.is_empty() {
        return None;
    }
    let number = |digits: &str| digits.bytes().fold(0, |n, b| n * 10 + u128::from(b - b'0'));
    let scale = (0..fraction.len()).fold(1_u128, |scale, _| scale * 10);
    let part = number(fraction) * unit;
    let rounded_up = part / scale + u128::from(!part.is_multiple_of(scale));
    Some(number(whole) * unit + rounded_up)
}

/// A wait that is not shorter than asked for, and longer by at most one rounding for each part.
fn assert_is(wait: Option<Duration>, asked: u128, parts: u128, input: &dyn std::fmt::Debug) {
    if asked / SECOND > u128::from(u64::MAX) {
        assert_eq!(wait, Some(Duration::MAX), "{input:?} is too long");
        return;
    }
    let Some(wait) = wait else {
        panic!("{input:?} asks for {asked} ns, and is no hint");
    };
    let nanos = wait.as_nanos();
    assert!(nanos >= asked, "{input:?}: {nanos} ns, not {asked}");
    assert!(nanos <= asked + parts, "{input:?}: {nanos} ns, not {asked}");
}

/// Any text, in a header and in every other place.
pub(crate) fn text(text: &str) {
    let wait = in_header(text);
    let trimmed = text.trim();
    if !is_about_a_date(trimmed) {
        assert_eq!(wait, in_header(trimmed), "{text:?}");
        assert_eq!(wait, in_json(&json!({"retryAfter": text})), "{text:?}");
    }
    let is_list = trimmed.contains(',');
    let has_extras = trimmed.contains(['(', ';', '"', '\'']);
    let has_number = trimmed.starts_with(|c: char| c.is_ascii_digit());
    assert!(
        trimmed.len() <= 64 || wait.is_none() || is_list || has_number || has_extras,
        "prose: {text:?}"
    );
    if trimmed.starts_with('-') && !is_list {
        assert_eq!(wait, None, "{text:?}");
    }
    let bare = trimmed.strip_prefix('+').unwrap_or(trimmed);
    let (whole, fraction) = bare.split_once('.').unwrap_or((bare, ""));
    if let Some(asked) = asked(whole, fraction, SECOND).filter(|_| trimmed.len() <= 64) {
        assert_is(wait, asked, 1, &text);
    } else if let Ok(number) = trimmed.parse::<f64>()
        && trimmed.len() <= 64
    {
        assert_float(wait, number, 1.0, &text);
    }
    for name in ["retry_after_ms", "retryDelayMs", "retry-in-ms"] {
        let wait = in_json(&json!({name: text}));
        if let Some(asked) = asked(whole, fraction, SECOND / 1_000) {
            assert_is(wait, asked, 1, &(name, text));
        } else if let Ok(number) = trimmed.parse::<f64>() {
            assert_float(wait, number, 1e3, &(name, text));
        }
    }
    // Any point in time is not in the past and does not panic.
    for name in ["resetAt", "retry_at", "retry-not-before"] {
        let _ = in_json(&json!({name: text}));
    }
}

/// Two readings of a date differ by the time between them.
fn is_about_a_date(text: &str) -> bool {
    let is_date = text.contains([':', '-', '/', '.']) || text.contains(|c: char| c.is_alphabetic());
    is_date && text.contains(|c: char| c.is_ascii_digit())
}

fn assert_float(wait: Option<Duration>, number: f64, per_second: f64, input: &dyn std::fmt::Debug) {
    let seconds = number / per_second;
    match wait {
        None => assert!(
            !number.is_finite() || number.is_sign_negative(),
            "{input:?} is no hint"
        ),
        Some(Duration::MAX) => assert!(seconds > 1.8e19, "{input:?} is not so long"),
        Some(wait) => assert!(
            seconds >= 0.0 && wait.as_secs_f64() >= seconds * (1.0 - 1e-15),
            "{input:?}: {wait:?}"
        ),
    }
}

/// Any number, under every name.
pub(crate) fn number(number: &Number) {
    let text = number.to_string();
    let (whole, fraction) = text.split_once('.').unwrap_or((&text, ""));
    for (name, unit) in [("retryAfter", SECOND), ("retry_after_ms", SECOND / 1_000)] {
        let wait = in_json(&json!({name: number}));
        let float = number.as_f64().unwrap_or(f64::NAN);
        if float < 0.0 {
            assert_eq!(wait, None, "{name}: {number}");
        } else if let Some(asked) = asked(whole, fraction, unit) {
            assert_is(wait, asked, 1, &(name, number));
        } else {
            let per_second = if unit == SECOND { 1.0 } else { 1e3 };
            assert_float(wait, float, per_second, &(name, number));
        }
    }
    let _ = in_json(&json!({"resetAt": number}));
    let _ = in_json(&json!({"retryAt": number.to_string()}));
    let value = Value::Number(number.clone());
    assert_eq!(in_json(&value), None, "no object");
}

/// Amounts with their units, one after the other: `1m30s`.
pub(crate) fn amounts(amounts: &[(String, String, &str, u64)]) {
    let mut text = String::new();
    let mut sum = 0_u128;
    for (whole, fraction, unit, nanos) in amounts {
        text.push_str(whole);
        if !fraction.is_empty() {
            text.push('.');
            text.push_str(fraction);
        }
        text.push_str(unit);
        let Some(asked) = asked(whole, fraction, u128::from(*nanos)) else {
            return;
        };
        sum += asked;
    }
    // Longer ones are prose.
    if !amounts.is_empty() && text.len() <= 64 {
        assert_is(in_header(&text), sum, amounts.len() as u128, &text);
    }
}
