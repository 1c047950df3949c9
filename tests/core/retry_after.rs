//! How long a server asks to wait: every form that is read, and values that are not hints.

mod forms;

use chrono::{DateTime, FixedOffset, SecondsFormat, Utc};
use mcp_resilience::classify::retry_after::{in_header, in_headers, in_json};
use serde_json::{Value, json};
use std::time::{Duration, SystemTime};

const SECOND: Duration = Duration::from_secs(1);

fn seconds(seconds: u64) -> Option<Duration> {
    Duration::from_secs(seconds).into()
}

fn nanos(nanos: u64) -> Option<Duration> {
    Duration::from_nanos(nanos).into()
}

/// The point in time this many seconds from now.
fn from_now(seconds: i64) -> DateTime<Utc> {
    #[expect(
        clippy::disallowed_methods,
        reason = "a date is told from the wall clock"
    )]
    let now = DateTime::<Utc>::from(SystemTime::now());
    now + chrono::TimeDelta::seconds(seconds)
}

/// Fails unless a hint is the time until then, less at most the second that text forms cut.
fn assert_until(then: DateTime<Utc>, read: impl FnOnce() -> Option<Duration>, case: &str) {
    let left = || (then - from_now(0)).to_std().unwrap_or_default();
    let most = left();
    let actual = read().unwrap_or_else(|| panic!("{case}: no hint"));
    // It is read between these two, however long that takes.
    let least = left().saturating_sub(SECOND);
    assert!(
        (least..=most).contains(&actual),
        "{case}: {actual:?}, not {least:?} to {most:?}"
    );
}

/// A text has a date, which may lack its fraction of a second: however late it is read.
fn assert_waits_until(at: DateTime<Utc>, text: &str, read: impl Fn(&str) -> Option<Duration>) {
    let left = || (at - from_now(0)).to_std().unwrap_or_default();
    let before = left();
    let wait = read(text).unwrap_or_else(|| panic!("{text}: no hint"));
    let after = left().saturating_sub(SECOND);
    assert!(wait >= after && wait <= before, "{text}: {wait:?}");
}

/// Strings of seconds, or durations with units, in every place for a string.
#[rustfmt::skip]
const TEXTS: &[(&str, u64)] = &[
    ("0", 0), ("0.0", 0), ("0s", 0), ("30", 30_000), (" 30 ", 30_000), ("+30", 30_000),
    ("007", 7_000), ("1.5", 1_500), ("1.", 1_000), (".5", 500), ("3e1", 30_000), ("25E-1", 2_500),
    ("58s", 58_000), ("58.2s", 58_200), ("1m30s", 90_000), ("500ms", 500), ("1h2m3s", 3_723_000),
    ("1.5h", 5_400_000), ("1m30.5s", 90_500), ("2h", 7_200_000), ("1h0m0s", 3_600_000),
    ("30 s", 30_000), ("30 sec", 30_000), ("30 seconds", 30_000), ("1 min", 60_000),
    ("2 minutes", 120_000), ("1 hour", 3_600_000), ("1 min 30 sec", 90_000), ("45S", 45_000),
    ("1000us", 1), ("1000\u{b5}s", 1), ("1000\u{3bc}s", 1), ("1000000ns", 1),
];

/// Values without a meaning for any name of a wait.
#[rustfmt::skip]
const NONSENSE: &[&str] = &[
    "", " ", "\t\n", ".", "..", "-", "+", "1..2", "1.2.3", "-1", "-0.5", "-1s", "1m-30s", "+-5",
    "--5", "- 5", "e", "1e", "e5", "-1e400",
    "nan", "NaN", "-inf", "0x10", "1_000", "1 000", "5 5",
    "s", "ms", "5x", "5s5", "s5", "5s!",
    "PT", "P", "30 seconds from now", "soon", "later", "null", "true", "[]", "{}",
    "٣", "٣s", "5٣", "５", "5ｓ", "5с", "5é", "é5", "5s💥", "💥", "1.é", ".é", "é.", "5\u{301}s",
    "5\0s", "\u{feff}5", "2026-13-45T99:99:99Z", "12:30", "Mon", "GMT", "1 Jan",
    "Sun, 99 Nov 1994 08:49:37 GMT", "Sun, 06 Foo 1994 08:49:37 GMT",
];

#[test]
fn strings_are_seconds_unless_they_carry_units() {
    for (text, millis) in TEXTS {
        let wait = Some(Duration::from_millis(*millis));
        assert_eq!(in_header(text), wait, "header {text:?}");
        assert_eq!(in_json(&json!({"retryAfter": text})), wait, "JSON {text:?}");
    }
}

#[test]
fn a_name_tells_the_unit_of_a_bare_number_in_any_spelling() {
    #[rustfmt::skip]
    let in_seconds = [
        "retryAfter", "retry_after", "Retry-After", "RETRY_AFTER", "retryafter", "retry-after",
        "retryAfterSeconds", "retry_after_seconds", "RetryAfterSeconds", "retry_after_secs",
        "retryAfterSecs", "retryAfterSec", "retry_after_sec", "retry_after_s", "retryInSeconds",
        "retry_in_seconds", "afterSeconds", "after_seconds", "retryDelay", "retry_delay",
    ];
    #[rustfmt::skip]
    let in_millis = [
        "retryAfterMs", "retry_after_ms", "RETRY_AFTER_MS", "Retry-After-Ms", "retryafterms",
        "retryDelayMs", "retry_delay_ms", "retryInMs", "retry_in_ms",
    ];
    let read = |key: &str, value: Value| in_json(&json!({key: value}));
    for key in in_seconds {
        assert_eq!(read(key, json!(30)), seconds(30), "{key}");
        assert_eq!(read(key, json!(1.5)), nanos(1_500_000_000), "{key}");
        assert_eq!(read(key, json!("30")), seconds(30), "{key}");
        assert_eq!(read(key, json!("1m30s")), seconds(90), "{key}");
    }
    for key in in_millis {
        assert_eq!(read(key, json!(1500)), nanos(1_500_000_000), "{key}");
        assert_eq!(read(key, json!(0.25)), nanos(250_000), "{key}");
        assert_eq!(read(key, json!("1500")), nanos(1_500_000_000), "{key}");
        assert_eq!(read(key, json!("2s")), seconds(2), "{key} with a unit");
    }
    // Never milliseconds by magnitude.
    assert_eq!(read("retryAfter", json!(86_400_000)), seconds(86_400_000));
    #[rustfmt::skip]
    let others = [
        "retry", "after", "retries", "retryAfterAll", "wait", "delay", "timeout", "window", "reset",
        "retryCount", "maxRetryAfter", "xRetryAfter", "retry.after", "rétryAfter", "",
    ];
    for key in others {
        assert_eq!(read(key, json!(30)), None, "{key}");
    }
}

#[test]
fn a_fraction_is_never_rounded_down() {
    let cases = [
        (json!({"retryAfter": "1.0000000001"}), 1_000_000_001),
        (json!({"retryAfter": "0.0000000001"}), 1),
        (json!({"retryAfter": "1.9999999999"}), 2_000_000_000),
        (json!({"retryAfter": format!("0.{}1", "0".repeat(40))}), 1),
        (
            json!({"retryAfter": format!("1.{}", "0".repeat(40))}),
            1_000_000_000,
        ),
        (json!({"retryAfter": "0.3"}), 300_000_000),
        (json!({"retryAfter": 0.1}), 100_000_000),
        (json!({"retryAfter": 1.2e-9}), 2),
        (json!({"retryAfter": "1.2e-9"}), 2),
        (json!({"retryAfter": "0.1ns"}), 1),
        (json!({"retryAfter": "1.0000001ms"}), 1_000_001),
        (json!({"retry_after_ms": "0.0000001"}), 1),
        (json!({"retry_after_ms": 1.000_000_1}), 1_000_001),
        (json!({"retry_after_ms": "1.1e-6"}), 2),
    ];
    for (value, expected) in cases {
        assert_eq!(in_json(&value), nanos(expected), "{value}");
    }
}

#[test]
fn the_longest_wait_that_a_duration_holds_is_still_one() {
    let longest = "18446744073709551615";
    assert_eq!(in_header(longest), seconds(u64::MAX));
    assert_eq!(in_json(&json!({"retryAfter": u64::MAX})), seconds(u64::MAX));
    let too_long = format!("{longest}.9999999999");
    assert_eq!(in_header(&too_long), Some(Duration::MAX), "rounded up");
    assert_eq!(in_header("18446744073709551616"), Some(Duration::MAX));
    let never = Some(Duration::MAX);
    assert_eq!(in_json(&json!({"retryAfter": 1e20})), never);
}

#[test]
fn dates_of_http_are_waits_from_now_and_zero_when_past() {
    for ahead in [3, 90, 86_400] {
        let at = from_now(ahead);
        let forms = [
            ("IMF-fixdate", "%a, %d %b %Y %H:%M:%S GMT"),
            ("RFC 850", "%A, %d-%b-%y %H:%M:%S GMT"),
            ("asctime", "%a %b %e %H:%M:%S %Y"),
        ];
        for (form, format) in forms {
            let text = at.format(format).to_string();
            assert_until(at, || in_header(&text), form);
            assert_until(at, || in_json(&json!({"retryAfter": text})), form);
            assert_until(at, || in_json(&json!({"retry_at": text})), form);
        }
    }
    let past = [
        "Sun, 06 Nov 1994 08:49:37 GMT",
        "Sunday, 06-Nov-94 08:49:37 GMT",
        "Sun Nov  6 08:49:37 1994",
    ];
    for text in past {
        assert_eq!(in_header(text), Some(Duration::ZERO), "{text}");
    }
}

#[test]
fn rfc_3339_and_the_epoch_are_waits_from_now_and_zero_when_past() {
    let at = from_now(90);
    let offset = |hours| FixedOffset::east_opt(hours * 3600 + 1800).unwrap();
    let epoch = at.timestamp();
    let values = [
        json!(at.to_rfc3339_opts(SecondsFormat::Secs, true)),
        json!(at.to_rfc3339_opts(SecondsFormat::Nanos, true)),
        json!(at.with_timezone(&offset(5)).to_rfc3339()),
        json!(at.with_timezone(&offset(-8)).to_rfc3339()),
        json!(epoch),
        json!(epoch.to_string()),
        json!(at.timestamp_millis()),
        json!(at.timestamp_millis().to_string()),
    ];
    #[rustfmt::skip]
    let keys = ["retryAt", "retry_at", "resetAt", "reset_at", "RESET-AT", "retryNotBefore", "retry_not_before"];
    for key in keys {
        for value in &values {
            let case = format!("{key}: {value}");
            assert_until(at, || in_json(&json!({key: value})), &case);
        }
        let past = [
            json!("1994-11-06T08:49:37Z"),
            json!("0001-01-01T00:00:00+14:00"),
            json!(0),
            json!(784_111_777),
            json!(784_111_777_000_u64),
        ];
        for value in past {
            assert_eq!(
                in_json(&json!({key: value})),
                Some(Duration::ZERO),
                "{key}: {value}"
            );
        }
        for value in [json!(-1), json!("-1"), json!(null), json!(true)] {
            assert_eq!(in_json(&json!({key: value})), None, "{key}: {value}");
        }
        for value in [json!(1e300), json!("1e300"), json!("1e400")] {
            let never = Some(Duration::MAX);
            assert_eq!(in_json(&json!({key: value})), never, "{key}: {value}");
        }
    }
    let text = values[2].as_str().unwrap();
    assert_until(
        at,
        || in_json(&json!({"retryAfter": text})),
        "under a name for seconds",
    );
}

#[test]
fn a_hint_is_found_wherever_servers_put_it() {
    let hint = json!({"retryAfter": 7});
    let found = [
        hint.clone(),
        json!({"error": hint}),
        json!({"details": hint}),
        json!({"error": {"details": hint}}),
        json!({"details": [{"reason": "QUOTA"}, hint]}),
        json!({"error": {"details": [hint, {"reason": "QUOTA"}]}}),
        json!({"data": hint}),
        json!({"adcp_error": hint}),
        json!({"io.example/failure": hint}),
    ];
    for value in found {
        assert_eq!(in_json(&value), seconds(7), "{value}");
    }
    let not_found = [
        json!({}),
        json!([hint]),
        json!("retryAfter: 7"),
        json!(7),
        json!(null),
        json!(true),
        json!({"a": {"b": {"c": hint}}}),
        json!({"message": "retryAfter: 7, wait 7 seconds"}),
    ];
    for value in not_found {
        assert_eq!(in_json(&value), None, "{value}");
    }
}

#[test]
fn the_longest_of_several_hints_counts() {
    let cases = [
        (json!({"retryAfter": 5, "retry_after_ms": 9000}), 9),
        (json!({"retryAfter": 9, "retry_after_ms": 5000}), 9),
        (json!({"retryAfter": 5, "error": {"retryAfter": 9}}), 9),
        (
            json!({"retryAfter": 9, "error": {"details": {"retryAfter": 5}}}),
            9,
        ),
        (json!({"retryAfter": 0, "data": {"retryDelay": "9s"}}), 9),
        (json!({"retryAfter": -1, "ns": {"retry_after": 9}}), 9),
        (
            json!({"retryAfter": 9, "resetAt": "1994-11-06T08:49:37Z"}),
            9,
        ),
        (
            json!({"retryAfter": 9, "retry_after": "NaN", "retryInMs": "-inf"}),
            9,
        ),
    ];
    for (value, expected) in cases {
        assert_eq!(in_json(&value), seconds(expected), "{value}");
    }
}

#[test]
fn a_value_that_is_not_a_wait_is_not_a_hint_and_never_a_panic() {
    for text in NONSENSE {
        assert_eq!(in_header(text), None, "header {text:?}");
        for key in ["retryAfter", "retryAfterMs", "retryAt"] {
            assert_eq!(in_json(&json!({key: text})), None, "{key}: {text:?}");
        }
    }
    let long = [
        "é".repeat(400),
        format!("{}-1", "9".repeat(400)),
        "1 ".repeat(400),
    ];
    for text in long {
        assert_eq!(in_header(&text), None, "{text:.9}…");
        for key in ["retryAfter", "retryAfterMs", "retryAt"] {
            assert_eq!(in_json(&json!({key: text})), None, "{key}: {text:.9}…");
        }
    }
    #[rustfmt::skip]
    let values = [
        json!(-1), json!(-0.5), json!(i64::MIN), json!(null),
        json!(true), json!(false), json!([]), json!([-1]), json!({}), json!({"reason": 30}),
    ];
    for value in values {
        for key in ["retryAfter", "retry_after_ms"] {
            assert_eq!(in_json(&json!({key: value})), None, "{key}: {value}");
        }
    }
}

#[test]
fn a_doubled_sign_is_no_number() {
    for text in ["++5", "+ +5", "++5s"] {
        assert_eq!(in_header(text), None, "{text:?}");
    }
}

#[test]
fn no_text_makes_it_panic() {
    let whole: Vec<&str> = NONSENSE
        .iter()
        .copied()
        .chain(TEXTS.iter().map(|(text, _)| *text))
        .collect();
    let read = |text: &str| {
        let _ = in_header(text);
        for key in ["retryAfter", "retryAfterMs", "retryAt", text] {
            let _ = in_json(&json!({key: text}));
        }
    };
    for a in &whole {
        for b in &whole {
            read(&format!("{a}{b}"));
        }
    }
    // Every length around the one at which a text counts as prose, cut inside a character or not.
    for padding in 0..80 {
        for tail in ["1", "1.", ".5", "1s", "é", "٣", "💥", "1e-400", "e400"] {
            read(&format!("{}{tail}", "0".repeat(padding)));
            read(&format!("{}{tail}", "é".repeat(padding)));
            read(&format!("1.{}{tail}", "0".repeat(padding)));
            read(&format!("{}{tail}", "9".repeat(padding)));
        }
    }
    // Too small for a nanosecond, and no less than nothing.
    let tiny = in_header("1e-400").unwrap();
    assert!(tiny <= Duration::from_nanos(1), "{tiny:?}");
}

#[test]
fn a_wait_that_is_too_big_is_the_longest_wait_and_not_a_missing_one() {
    let nines = "9".repeat(400);
    let units = format!("{nines}s");
    let texts = [
        "18446744073709551616",
        "1e25",
        "1e300",
        "1e400",
        "1e999999999999",
        "1e30s",
        "9e400h",
        "99999999999999999999999999h",
        "9999999999999999999999d1s",
        &nines,
        &units,
    ];
    for text in texts {
        assert_eq!(in_header(text), Some(Duration::MAX), "{text:.30}");
    }
    let padded = format!("{}5", "0".repeat(400));
    assert_eq!(in_header(&padded), seconds(5));
    for key in ["retryAfter", "retry_after_ms", "retryAt"] {
        for value in [json!(1e300), json!(f64::MAX), json!(nines), json!("1e400")] {
            let never = Some(Duration::MAX);
            assert_eq!(in_json(&json!({key: value})), never, "{key}: {value:.30}");
        }
    }
    assert_eq!(
        in_header("Fri, 31 Dec 100000 23:59:59 GMT"),
        Some(Duration::MAX)
    );
}

#[test]
fn the_longest_of_a_list_or_of_several_headers_counts() {
    let later = |seconds| {
        let at = from_now(seconds);
        (at, httpdate::fmt_http_date(at.into()))
    };
    let (far, near) = (later(90), later(30));
    for (text, expected) in [
        ("2, 2", 2),
        ("1,3", 3),
        ("3 , 1", 3),
        ("5, soon", 5),
        ("soon, 5", 5),
        (", 5,", 5),
        ("-1, 5", 5),
    ] {
        assert_eq!(in_header(text), seconds(expected), "{text}");
    }
    assert_eq!(in_header("soon, later"), None);
    for list in [
        format!("{}, {}", far.1, near.1),
        format!("{}, {}", near.1, far.1),
        format!("1, {}, 3", far.1),
    ] {
        assert_waits_until(far.0, &list, in_header);
    }
    assert_eq!(in_headers(["1", "3", "soon"]), seconds(3));
    assert_eq!(in_headers(["1, 4", "3"]), seconds(4));
    assert_eq!(in_headers(["soon"]), None);
    assert_eq!(in_headers([]), None);
}

#[test]
fn a_date_is_read_in_every_form_in_which_servers_write_it() {
    let date = from_now(90);
    let from_now_on = date;
    let east = date + chrono::TimeDelta::hours(2);
    let west = date - chrono::TimeDelta::minutes(210);
    let forms = [
        (date, "%a, %d %b %Y %H:%M:%S GMT"),
        (date, "%A, %d-%b-%y %H:%M:%S GMT"),
        (date, "%a %b %e %H:%M:%S %Y"),
        (date, "%a, %d %b %Y %H:%M:%S UTC"),
        (date, "%a, %d %b %Y %H:%M:%S Gmt"),
        (date, "%a, %d %b %Y %H:%M:%S UT"),
        (date, "%a, %d %b %Y %H:%M:%S Z"),
        (date, "%a, %d %b %Y %H:%M:%S +0000"),
        (date, "%a, %d %b %Y %H:%M:%S -0000"),
        (east, "%a, %d %b %Y %H:%M:%S +0200"),
        (east, "%a, %d %b %Y %H:%M:%S +02:00"),
        (east, "%a, %d %b %Y %H:%M:%S GMT+0200"),
        (west, "%a, %d %b %Y %H:%M:%S -0330"),
        (date, "%a, %d %b %Y %H:%M:%S"),
        (date, "%d %b %Y %H:%M:%S GMT"),
        (date, "%a, %e %b %Y %H:%M:%S GMT"),
        (date, "%a,%d %b %Y %H:%M:%S GMT"),
        (date, "%a   %d   %b %Y   %H:%M:%S  GMT "),
        (date, "%A, %d %B %Y %H:%M:%S GMT"),
        (date, "%a, %d-%b-%Y %H:%M:%S GMT"),
        (date, "%a, %d %b %y %H:%M:%S GMT"),
        (date, "%a, %d %b %Y %H:%M:%S.000 GMT"),
        (date, "%a %b %d %Y %H:%M:%S GMT+0000 (Coordinated)"),
        (date, "%a %b %d %H:%M:%S UTC %Y"),
        (date, "%Y-%m-%dT%H:%M:%SZ"),
        (date, "%Y-%m-%dt%H:%M:%Sz"),
        (date, "%Y-%m-%dT%H:%M:%S%.9fZ"),
        (date, "%Y-%m-%dT%H:%M:%S"),
        (date, "%Y-%m-%d %H:%M:%S"),
        (date, "%Y-%m-%d %H:%M:%S UTC"),
        (date, "%Y-%m-%d %H:%M:%S +0000 UTC"),
        (east, "%Y-%m-%dT%H:%M:%S+02:00"),
        (east, "%Y-%m-%dT%H:%M:%S+0200"),
        (west, "%Y-%m-%dT%H:%M:%S-03:30"),
    ];
    for (date, form) in forms {
        let plain = date.format(form).to_string();
        for text in [plain.clone(), plain.to_lowercase(), plain.to_uppercase()] {
            assert_waits_until(from_now_on, &text, in_header);
            for name in ["retryAfter", "resetAt"] {
                assert_waits_until(from_now_on, &text, |text| in_json(&json!({name: text})));
            }
        }
    }
}

#[test]
fn a_text_that_only_looks_like_a_date_is_not_one() {
    for text in [
        "Mon, 32 Nov 2099 18:52:20 GMT",
        "Mon, 31 Feb 2099 18:52:20 GMT",
        "Mon, 30 Nov 2099 24:52:20 GMT",
        "Mon, 30 Nov 2099 18:60:20 GMT",
        "Mon, 30 Nov 2099 18:52:20 +9900",
        "Mon, 30 Nov 18:52:20 GMT",
        "30 30 Nov 2099 18:52:20 GMT",
        "Nov Nov 30 2099 18:52:20 GMT",
        "2099-13-01T00:00:00Z",
        "2099-02-30T00:00:00Z",
    ] {
        assert_eq!(in_header(text), None, "{text}");
    }
}
