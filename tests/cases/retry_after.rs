//! How long a server asks to wait: the forms, and their effect.

use crate::{
    stack::{MS, SECOND, Seen, Step, fails, fine, millis, preset, retry, see, see_in, see_with},
    support::{Answer, Call, Lines, Script},
};
use chrono::{DateTime, Utc};
use mcp_resilience::{
    Failure,
    backoff::{Backoff, Jitter},
    classify::retry_after,
};
use serde_json::{Value, json};
use std::{
    collections::BTreeSet,
    iter,
    time::{Duration, SystemTime},
};
use tokio::{task::JoinSet, time::Instant};
use tower::{Layer, ServiceExt, service_fn};

/// A refusal whose hint stands under this name.
#[expect(clippy::unnecessary_wraps, reason = "it stands where others fail")]
fn hinted(name: &str, hint: &Value) -> Step {
    let mut envelope = json!({"code": "rate_limited", "error": "slow down"});
    envelope[name] = hint.clone();
    Ok(Answer::envelope(envelope))
}

async fn once(name: &str, hint: &Value) -> Seen {
    see(Call::tool("ask"), [hinted(name, hint), fine()]).await
}

#[tokio::test(start_paused = true)]
async fn case_039_every_spelling_has_its_unit_and_a_bare_number_is_seconds() {
    let seconds = [
        "retryAfter",
        "retry_after",
        "retry-after",
        "Retry-After",
        "RETRY_AFTER",
        "retryAfterSeconds",
        "retry_after_seconds",
        "retryAfterSecs",
        "retry_after_s",
        "retryDelay",
        "after_seconds",
    ];
    let milliseconds = [
        "retryAfterMs",
        "retry_after_ms",
        "retry-after-ms",
        "retryDelayMs",
    ];
    for (names, hint, wait) in [
        (&seconds[..], json!(2), 2_000),
        (&seconds, json!("2"), 2_000),
        (&seconds, json!("1500ms"), 1_500),
        (&milliseconds, json!(2_000), 2_000),
        (&milliseconds, json!("2000"), 2_000),
    ] {
        for name in names {
            let seen = once(name, &hint).await;
            seen.assert_fine();
            assert_eq!(millis(&seen.calls), [0, wait], "{name}: {hint}");
        }
    }
    assert_eq!(retry_after::in_header("2"), Some(2 * SECOND));
    let mirrored = json!({"error": {"message": "slow down", "retry_after_seconds": 2}});
    assert_eq!(retry_after::in_json(&mirrored), Some(2 * SECOND));
}

#[tokio::test(start_paused = true)]
async fn case_040_a_wait_of_zero_is_no_hint_and_lets_the_backoff_grow() {
    let zeros = [
        ("retryAfter", json!(0)),
        ("retryAfter", json!("0")),
        ("retryAfter", json!("0s")),
        ("retryAfter", json!(0.0)),
        ("retryAfterMs", json!(0)),
        ("retryAfter", json!("Thu, 01 Jan 1970 00:00:00 GMT")),
        ("resetAt", json!(1_000_000_000)),
        ("retryAt", json!("2001-01-01T00:00:00Z")),
    ];
    for (name, zero) in zeros {
        let refused = || hinted(name, &zero);
        let steps = iter::repeat_with(refused).take(9);
        let seen = see_with(retry().max_attempts(6), Call::tool("ask"), steps).await;
        assert_eq!(
            millis(&seen.calls),
            [0, 100, 300, 700, 1_500, 3_100],
            "{name}: {zero}"
        );
    }
}

#[tokio::test(start_paused = true)]
async fn case_043_a_wait_above_the_maximum_is_not_slept() {
    for hint in [json!(86_400), json!("1d"), json!(10.001), json!(u64::MAX)] {
        let limited = retry().max_retry_after(10 * SECOND);
        let steps = [hinted("retryAfter", &hint), fine()];
        let seen = see_with(limited, Call::tool("ask"), steps).await;
        assert_eq!(seen.took, Duration::ZERO, "{hint}");
        assert_eq!(seen.calls.len(), 1);
        assert_eq!(seen.line["retry_stopped"], "hint_too_long");
        seen.flagged();
    }
    // A value that is not a wait is not a hint.
    for hint in [json!("NaN"), json!(-1)] {
        let seen = once("retryAfter", &hint).await;
        assert_eq!(millis(&seen.calls), [0, 100], "{hint}");
    }
}

#[tokio::test(start_paused = true)]
async fn case_044_a_hint_has_a_maximum_of_its_own_and_is_kept_in_full_or_not_at_all() {
    let limited = || {
        retry()
            .backoff(Backoff::new(100 * MS, 8 * SECOND).unwrap())
            .max_retry_after(120 * SECOND)
    };
    for (hint, calls) in [
        (30, vec![0, 30_000]),
        (120, vec![0, 120_000]),
        (121, vec![0]),
    ] {
        let refusal = Failure::rate_limited(Some(hint * SECOND)).before_running();
        let steps = [fails(refusal), fine()];
        let seen = see_with(limited(), Call::tool("ask"), steps).await;
        assert_eq!(millis(&seen.calls), calls);
        if calls.len() == 1 {
            let answer = seen.flagged();
            assert_eq!(answer.structured.as_ref().unwrap()["retryAfter"], hint);
            assert!(answer.text().contains("Wait 121 s"), "{answer:?}");
            assert_eq!(seen.line["retry_after_ms"], 121_000);
        }
    }
}

#[tokio::test(start_paused = true)]
async fn case_045_a_date_is_waited_for_and_nonsense_is_no_error() {
    #[expect(clippy::disallowed_methods, reason = "a date is the wall clock's")]
    let now = SystemTime::now();
    let then = now + 3 * SECOND;
    let since_epoch = then.duration_since(SystemTime::UNIX_EPOCH).unwrap();
    let since_epoch = since_epoch.as_secs_f64();
    let dates = [
        ("retryAfter", json!(httpdate::fmt_http_date(then))),
        ("Retry-After", json!(httpdate::fmt_http_date(then))),
        ("resetAt", json!(since_epoch)),
        ("resetAt", json!(since_epoch * 1e3)),
    ];
    for (name, date) in dates {
        let seen = once(name, &date).await;
        seen.assert_fine();
        let wait = seen.calls[1];
        // It has no fractions of a second, and the clock has gone on.
        #[expect(clippy::disallowed_methods, reason = "a date is the wall clock's")]
        let left = then.duration_since(SystemTime::now()).unwrap_or_default();
        assert!(
            wait + SECOND >= left && wait <= 3 * SECOND,
            "{name} {date}: {wait:?}, {left:?} later"
        );
    }
    for nonsense in [
        json!("soon"),
        json!(""),
        json!("Thu, 99 Foo 2099 00:00:00 GMT"),
        json!("12:30"),
        json!("1e"),
        json!([]),
        json!({"seconds": "x"}),
        json!(null),
        json!(true),
    ] {
        let seen = once("retryAfter", &nonsense).await;
        seen.assert_fine();
        assert_eq!(millis(&seen.calls), [0, 100], "{nonsense}");
    }
}

#[tokio::test(start_paused = true)]
async fn case_047_callers_that_are_refused_together_do_not_come_back_together() {
    let lines = Lines::default();
    let spread = retry().jitter(Jitter::full()).max_attempts(2);
    let layer = preset(&lines, spread).build().unwrap();
    let mut callers = JoinSet::new();
    let begun = Instant::now();
    for _ in 0..50 {
        let mut is_first = true;
        let tool = service_fn(move |_: Call| {
            let refused = std::mem::replace(&mut is_first, false);
            let at = begun.elapsed();
            let answer = if refused {
                Err(Failure::rate_limited(Some(60 * SECOND)).before_running())
            } else {
                Ok(Answer::ok(&at.as_millis().to_string()))
            };
            async { answer }
        });
        // The service keeps its state, which a copy would not.
        let shared = tower::buffer::Buffer::new(tool, 1);
        let stack = layer.layer(shared);
        callers.spawn(stack.oneshot(Call::tool("ask")));
    }
    let mut came_back = BTreeSet::new();
    while let Some(answer) = callers.join_next().await {
        let at: u64 = answer.unwrap().unwrap().text().parse().unwrap();
        assert!(at >= 60_000, "none before: {at}");
        assert!(at <= 90_001, "half a hint on top at most: {at}");
        came_back.insert(at);
    }
    assert!(came_back.len() > 25, "{came_back:?}");
    let width = came_back.last().unwrap() - came_back.first().unwrap();
    assert!(width > 10_000, "{came_back:?}");
}

#[tokio::test(start_paused = true)]
async fn case_048_fractions_and_numbers_in_strings_are_rounded_up_and_never_an_error() {
    let hints = [
        (json!(1.5), 1_500_000_000),
        (json!("2"), 2_000_000_000),
        (json!(" 3 "), 3_000_000_000),
        (json!("+4"), 4_000_000_000),
        (json!("292.052427053"), 292_052_427_053),
        (json!("0.0000000001"), 1),
        (json!("1.0000000000000000000000001"), 1_000_000_001),
        (json!("3e1"), 30_000_000_000),
    ];
    for (hint, least) in hints {
        let wait = retry_after::in_json(&json!({"retryAfter": hint})).unwrap();
        assert_eq!(wait, Duration::from_nanos(least), "{hint}");
        let seen = once("retryAfter", &hint).await;
        seen.assert_fine();
        assert!(seen.calls[1] >= wait, "{hint}: {:?}", seen.calls);
    }
    // As a float, which holds no more than it does.
    let wait = retry_after::in_json(&json!({"retryAfter": 292.052_427_053})).unwrap();
    assert!(wait >= Duration::from_nanos(292_052_427_053));
    assert!(wait <= Duration::from_nanos(292_052_427_054));
}

#[tokio::test(start_paused = true)]
async fn case_049_a_wait_that_does_not_fit_ends_the_call_at_once_with_the_reason() {
    let limits = [
        (
            retry()
                .deadline(900 * SECOND)
                .max_retry_after(3600 * SECOND),
            "deadline",
        ),
        (retry(), "hint_too_long"),
    ];
    for (limited, stopped) in limits {
        let refusal = Failure::rate_limited(Some(1800 * SECOND)).before_running();
        let tool = Script::new([fails(refusal), fine()]);
        let preset = |lines: &Lines| preset(lines, limited).attempt_timeout(30 * SECOND);
        let seen = see_in(preset, Call::tool("ask"), tool).await;
        assert_eq!(seen.took, Duration::ZERO);
        assert_eq!(seen.line["retry_stopped"], stopped);
        assert_eq!(seen.line["retry_after_ms"], 1_800_000);
        let answer = seen.flagged();
        assert_eq!(answer.structured.as_ref().unwrap()["retryAfter"], 1800);
        assert!(answer.text().contains("Wait 1800 s"), "{answer:?}");
    }
}

/// How a server writes a date that is `wait` away.
fn dates(wait: Duration) -> [String; 8] {
    #[expect(clippy::disallowed_methods, reason = "a date is the wall clock's")]
    let date = DateTime::<Utc>::from(SystemTime::now() + wait);
    [
        "%a, %d %b %Y %H:%M:%S UTC",
        "%a, %d %b %Y %H:%M:%S +0000",
        "%a, %d %b %Y %H:%M:%S gmt",
        "%d %b %Y %H:%M:%S GMT",
        "%A, %d-%b-%y %H:%M:%S GMT",
        "%a %b %e %H:%M:%S %Y",
        "%Y-%m-%dT%H:%M:%S%:z",
        "%Y-%m-%d %H:%M:%S +0000 UTC",
    ]
    .map(|form| date.format(form).to_string())
}

#[tokio::test(start_paused = true)]
async fn case_125_a_date_is_a_floor_however_its_zone_is_written() {
    for date in dates(40 * SECOND) {
        let seen = once("Retry-After", &json!(date)).await;
        seen.assert_fine();
        // It has no fractions of a second, and the clock has gone on.
        assert!(seen.calls[1] > 5 * SECOND, "{date}: {:?}", seen.calls[1]);
    }
}

#[tokio::test(start_paused = true)]
async fn case_127_a_date_out_of_range_is_never_and_one_that_is_past_is_no_floor() {
    let never = [
        "Mon, 30 Nov 9999 18:52:20 GMT",
        "Mon, 30 Nov 100000 18:52:20 GMT",
        "100000-11-30T18:52:20Z",
    ];
    for date in never {
        let seen = once("Retry-After", &json!(date)).await;
        assert_eq!(seen.calls.len(), 1, "{date}");
        assert_eq!(seen.line["retry_stopped"], "hint_too_long", "{date}");
    }
    let past = [
        "Mon, 30 Nov 2015 18:52:60 GMT",
        "Mon, 30 Nov 2015 18:52:20 GMT",
        "1994-11-06T08:49:37Z",
        "Mon, 31 Feb 2099 18:52:20 GMT",
    ];
    for date in past {
        let seen = once("Retry-After", &json!(date)).await;
        assert_eq!(millis(&seen.calls), [0, 100], "{date}");
    }
}

#[tokio::test(start_paused = true)]
async fn case_128_a_number_that_is_too_big_is_never_asked_for_earlier_than_a_smaller_one() {
    let hints = [
        json!(u64::MAX),
        json!("18446744073709551616"),
        json!("99999999999999999999"),
        json!(1e300),
        json!("1e400"),
        json!("9".repeat(400)),
        json!("99999999999999999999999999h"),
    ];
    for hint in hints {
        for name in ["retryAfter", "retry_after_ms"] {
            let seen = once(name, &hint).await;
            assert_eq!(seen.calls.len(), 1, "{name}: {hint}");
            assert_eq!(
                seen.line["retry_stopped"], "hint_too_long",
                "{name}: {hint}"
            );
        }
    }
}
