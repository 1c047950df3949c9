//! Forms that differ slightly from the standards.

use super::{assert_waits_until, seconds};
use chrono::{DateTime, Utc};
use mcp_resilience::classify::retry_after::{in_header, in_json};
use serde_json::json;
use std::time::Duration;

/// A date that is far enough, in UTC.
fn date(text: &str) -> DateTime<Utc> {
    text.parse().unwrap()
}

fn assert_dates(then: &str, texts: &[&str]) {
    for text in texts {
        assert_waits_until(date(then), text, in_header);
        for name in ["retryAfter", "retryAfterMs", "retryAfterMinutes", "retryAt"] {
            assert_waits_until(date(then), text, |text| in_json(&json!({name: text})));
        }
    }
}

#[test]
fn a_comma_cuts_neither_a_length_of_time_nor_a_date_nor_a_number() {
    for text in [
        "1 minute, 30 seconds",
        "1m, 30s",
        "1 minute, and 30 seconds",
    ] {
        assert_eq!(in_header(text), seconds(90), "{text}");
    }
    for (text, expected) in [
        ("1,000", 1_000),
        ("1,000, 5", 1_000),
        ("1, 300", 300),
        ("30s, 5s", 30),
        ("30s, 1m", 60),
        ("30,000 ms", 30),
        ("5; a, 300; b", 300),
        ("5 (a), 30 (b)", 30),
    ] {
        assert_eq!(in_header(text), seconds(expected), "{text}");
    }
    let then = "2099-11-30T22:50:00Z";
    assert_dates(
        then,
        &[
            "Nov 30, 2099 22:50:00 GMT, 5",
            "5, Mon, 30 Nov 2099 22:50:00 GMT",
            "Mon, 30 Nov 2099, 22:50:00 GMT",
            "2099-11-30T22:50:00,0Z",
            "5, 2099-11-30T14:50:00,0-08:00",
        ],
    );
    // Its beginning alone would be earlier.
    assert_eq!(in_header("Nov 30, 2099, 22:50 -99:00"), None);
}

#[test]
fn a_name_may_end_in_any_unit() {
    for (name, value, expected) in [
        ("retry_after_days", 1, Duration::from_secs(86_400)),
        ("retryInHours", 1, Duration::from_secs(3_600)),
        ("wait_us", 5_000, Duration::from_millis(5)),
        ("retryDelayMicroseconds", 5_000, Duration::from_millis(5)),
        ("retryAfterNs", 5_000_000, Duration::from_millis(5)),
        ("backoff_nanos", 5_000_000, Duration::from_millis(5)),
    ] {
        assert_eq!(in_json(&json!({name: value})), Some(expected), "{name}");
        let text = value.to_string();
        assert_eq!(in_json(&json!({name: text})), Some(expected), "{name}");
    }
}

#[test]
fn a_length_of_time_is_read_in_every_form() {
    let minutes = |minutes: u64| seconds(60 * minutes);
    for text in [
        "\"120\"",
        "'120'",
        "120;",
        "120; x=y",
        "120 (approx)",
        "PT2M",
        "pt120s",
        "P0DT0H2M",
        "00:02:00",
        "0:02:00.0",
        "2 min.",
        "120 sec.",
        "1 min 60",
        "1m60",
    ] {
        assert_eq!(in_header(text), minutes(2), "{text}");
        assert_eq!(in_json(&json!({"retryAfter": text})), minutes(2), "{text}");
    }
    for text in [
        "1h30",
        "1 hour and 30 minutes",
        "1 hour, 30 minutes",
        "PT1,5H",
        "01:30:00",
    ] {
        assert_eq!(in_header(text), minutes(90), "{text}");
    }
    for text in [
        "1 week",
        "1w",
        "P1W",
        "7 days",
        "7.00:00:00",
        "7 days, 0:00:00",
    ] {
        assert_eq!(in_header(text), seconds(7 * 86_400), "{text}");
    }
    for text in [
        "Infinity",
        "inf",
        "never",
        "Forever",
        "PT99999999999999999999999H",
        "+275760-09-13T00:00:00.000Z",
    ] {
        assert_eq!(in_header(text), Some(Duration::MAX), "{text}");
        assert_eq!(
            in_json(&json!({"retryAt": text})),
            Some(Duration::MAX),
            "{text}"
        );
    }
}

#[test]
fn a_date_is_read_in_forms_of_languages_and_locales() {
    assert_dates(
        "2099-11-30T22:50:00Z",
        &[
            "Mon Nov 30 2099 22:50:00 GMT+0000 (Coordinated Universal Time)",
            "Tue Dec 01 2099 09:50:00 GMT+1100 (Australian Eastern Daylight Saving Time)",
            "Mon, 30 Nov 2099 23:50:00 CET",
            "Tue, 01 Dec 2099 00:50:00 CEST",
            "Mon, 30 Nov 2099 23:50:00 BST",
            "Tue, 01 Dec 2099 07:50:00 JST",
            "Mon, 30 Nov 2099 10:50:00 PM GMT",
            "Nov 30, 2099 10:50 PM",
            "11/30/2099, 10:50:00\u{202f}PM",
            "30.11.2099 22:50",
            "20991130T225000Z",
            "2099/11/30 22:50:00",
            "2099-11-30T23:50:00+01:00[Europe/Berlin]",
            "2099-11-30 22:50:00.0 +0000 UTC m=+0.000123",
            "30. Nov 2099 22:50:00",
            "\"Mon, 30 Nov 2099 22:50:00 GMT\"",
            "Mon, 30 Nov 2099 22:50:00 GMT;",
            "2099-11-30T21:50:00\u{2212}01:00",
        ],
    );
    assert_dates("2099-12-01T00:00:00Z", &["Mon, 30 Nov 2099 24:00:00 GMT"]);
    assert_dates(
        "2099-11-10T22:50:00Z",
        &["10/11/2099 22:50", "11/10/2099 22:50"],
    );
}

#[test]
fn a_zone_that_is_not_known_is_read_as_the_westernmost() {
    assert_dates(
        "2099-12-01T10:50:00Z",
        &[
            "Mon, 30 Nov 2099 22:50:00 XYZ",
            "2099-11-30T22:50:00[Europe/Berlin]",
            "2099-11-30 22:50:00 Europe/Berlin",
        ],
    );
    assert_dates(
        "2099-11-30T12:00:00Z",
        &["2099-11-30", "Nov 30, 2099", "Mon, 30 Nov 2099"],
    );
    assert_eq!(in_header("Mon, 30 Nov 2099 22:50:00 soon enough"), None);
}

#[test]
fn a_name_is_a_stem_and_a_unit() {
    for (name, number, expected) in [
        ("retryAfterMillis", 1_500_000, 1_500),
        ("retry_after_milliseconds", 30_000, 30),
        ("retryAfterMinutes", 2, 120),
        ("retryDelaySeconds", 30, 30),
        ("retryIn", 30, 30),
        ("retry_in_hours", 1, 3_600),
        ("retry after", 30, 30),
        ("Retry After Seconds", 30, 30),
        ("retryAfterTime", 30, 30),
    ] {
        assert_eq!(in_json(&json!({name: number})), seconds(expected), "{name}");
    }
    for name in [
        "retryAttempts",
        "retryCount",
        "retryDelays",
        "retryInterval",
        "retryAfterwards",
        "retry",
        "afterS",
        "afterAll",
        "resetAtAll",
        "maxRetryAfterMs",
        "retryAfterM",
        "retryLimit",
    ] {
        assert_eq!(in_json(&json!({name: 30})), None, "{name}");
    }
    assert_eq!(in_json(&json!({"retry": true})), None);
}

#[test]
fn a_value_may_be_a_list_or_an_object() {
    for value in [
        json!({"retryDelay": {"seconds": 30}}),
        json!({"retryDelay": {"seconds": "29", "nanos": 1_000_000_000}}),
        json!({"retryAfter": {"value": 30, "unit": "s"}}),
        json!({"retryAfterMs": {"value": 30_000}}),
        json!({"retryAfter": [30]}),
        json!({"retryAfter": [5, "30", "soon"]}),
        json!({"headers": {"Retry-After": ["30"]}}),
        json!({"retryAt": "30"}),
        json!({"resetAt": 30}),
        json!({"resetAt": "in 5 s", "retryAt": "30s"}),
    ] {
        assert_eq!(in_json(&value), seconds(30), "{value}");
    }
    let then = date("2099-11-30T22:50:00Z");
    let epoch = then.timestamp();
    for value in [
        json!({"retryAfterDate": "2099-11-30T22:50:00Z"}),
        json!({"resetAt": {"seconds": epoch}}),
        json!({"retryAtMs": epoch * 1_000}),
        json!({"retryAtUs": epoch * 1_000_000}),
        json!({"resetAtNs": epoch * 1_000_000_000}),
        json!({"retryUntil": [0, epoch]}),
    ] {
        assert_waits_until(then, &value.to_string(), |_| in_json(&value));
    }
    for value in [
        json!([]),
        json!([-1]),
        json!({}),
        json!({"seconds": -1}),
        json!([[[30]]]),
    ] {
        assert_eq!(in_json(&json!({"retryAfter": value})), None, "{value}");
    }
}

#[test]
fn a_wait_is_read_under_the_names_that_servers_give_it() {
    for json in [
        json!({"retryAfterInSeconds": 120}),
        json!({"retry_after_in_ms": 120_000}),
        json!({"retryWaitMs": 120_000}),
        json!({"nextRetryIn": "2m"}),
        json!({"try_again_in": 120}),
        json!({"resetIn": 120}),
        json!({"rate_limit": {"reset_after": "120"}}),
        json!({"wait_seconds": 120}),
        json!({"waitMs": 120_000}),
        json!({"backoff_ms": 120_000}),
        json!({"retry": {"cooldownSeconds": 120}}),
    ] {
        assert_eq!(in_json(&json), seconds(120), "{json}");
    }
    let then = "2099-11-30T22:50:00Z";
    for name in ["nextRetryAt", "try_again_at", "resetsAt"] {
        assert_waits_until(date(then), then, |text| in_json(&json!({name: text})));
    }
    // A bare number under these may be anything.
    for name in ["wait", "backoff", "cooldown", "after", "reset", "waiting"] {
        assert_eq!(in_json(&json!({name: 120})), None, "{name}");
    }
}
