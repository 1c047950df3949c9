//! Waits: ceilings, jitter, and the effect of a server's hint.

use crate::{
    retry::{HOUR, MINUTE, MS, SECOND, always, busy, exact, fail, fine, make, times},
    support::{Call, Script},
};
use mcp_resilience::{
    Class,
    backoff::{Backoff, InvalidBackoff, Jitter},
    failure::Stopped,
    policy::Policy,
    retry::RetryBuilder,
};
use std::{collections::HashSet, iter, time::Duration};
use tokio::time::Instant;
use tower::{Layer, ServiceExt};

#[test]
fn ceilings_double_from_the_base_and_stop_at_the_cap() {
    let cases: [(Backoff, &[u64]); 5] = [
        (
            Backoff::default(),
            &[1000, 2000, 4000, 8000, 16_000, 30_000, 30_000],
        ),
        (
            Backoff::new(100 * MS, 250 * MS).unwrap(),
            &[100, 200, 250, 250],
        ),
        (Backoff::new(100 * MS, 100 * MS).unwrap(), &[100, 100, 100]),
        (Backoff::new(7 * MS, SECOND).unwrap(), &[7, 14, 28, 56, 112]),
        (
            Backoff::new(SECOND, 4 * SECOND).unwrap(),
            &[1000, 2000, 4000, 4000],
        ),
    ];
    for (backoff, expected) in cases {
        let ceilings: Vec<_> = backoff.ceilings().take(expected.len()).collect();
        let expected: Vec<_> = expected
            .iter()
            .map(|&ms| MS * ms.try_into().unwrap())
            .collect();
        assert_eq!(ceilings, expected, "{backoff:?}");
    }
}

#[test]
fn ceilings_saturate_and_never_end() {
    let cases = [
        (Duration::from_nanos(1), Duration::MAX),
        (SECOND, Duration::MAX),
        (Duration::MAX, Duration::MAX),
        (SECOND, 30 * SECOND),
    ];
    for (base, cap) in cases {
        let ceilings = Backoff::new(base, cap).unwrap().ceilings();
        assert_eq!(
            ceilings.clone().nth(100_000),
            Some(cap),
            "{base:?}, {cap:?}"
        );
        let is_sorted = ceilings.take(200).is_sorted();
        assert!(
            is_sorted,
            "{base:?}, {cap:?}: no ceiling is lower than the one before"
        );
    }
}

#[test]
fn each_backoff_begins_anew() {
    let backoff = Backoff::default();
    let mut used = backoff.ceilings();
    assert_eq!(used.nth(5), Some(30 * SECOND));
    assert_eq!(backoff.ceilings().next(), Some(SECOND));
}

#[test]
fn settings_that_cannot_work_are_refused_and_the_reason_says_what_to_do() {
    let cases = [
        (
            Duration::ZERO,
            SECOND,
            InvalidBackoff::ZeroBase,
            "the base of a backoff is zero: give the first wait a length",
        ),
        (
            Duration::ZERO,
            Duration::ZERO,
            InvalidBackoff::ZeroBase,
            "the base of a backoff is zero: give the first wait a length",
        ),
        (
            2 * SECOND,
            SECOND,
            InvalidBackoff::CapBelowBase {
                base: 2 * SECOND,
                cap: SECOND,
            },
            "the cap of a backoff (1s) is below its base (2s): swap them, or raise the cap",
        ),
    ];
    for (base, cap, expected, message) in cases {
        let refused = Backoff::new(base, cap).unwrap_err();
        assert_eq!(refused, expected);
        assert_eq!(refused.to_string(), message);
    }
}

#[test]
fn full_jitter_spreads_evenly_up_to_the_ceiling_and_never_beyond() {
    // Whole seconds too: drawn in whole seconds, every caller of an outage would come back with
    // one of very few waits.
    for ceiling in [10 * MS, SECOND, 2 * SECOND, 30 * SECOND] {
        let draws = draws(&Jitter::full(), ceiling, 2000);
        assert!(draws.iter().all(|&draw| draw <= ceiling), "{ceiling:?}");
        let distinct: HashSet<_> = draws.iter().collect();
        assert!(distinct.len() > 1900, "{ceiling:?}: {}", distinct.len());
        // Each tenth expects 200 of them, with a deviation of about 13.
        for tenth in 0..10 {
            let range = ceiling * tenth / 10..ceiling * (tenth + 1) / 10;
            let count = draws.iter().filter(|draw| range.contains(draw)).count();
            assert!(
                (100..300).contains(&count),
                "{ceiling:?}, tenth {tenth}: {count}"
            );
        }
    }
}

#[test]
fn full_jitter_takes_any_ceiling() {
    let jitter = Jitter::full();
    assert_eq!(jitter.draw(Duration::ZERO), Duration::ZERO);
    for ceiling in [Duration::from_nanos(1), Duration::MAX, Duration::MAX / 2] {
        assert!(jitter.draw(ceiling) <= ceiling, "{ceiling:?}");
    }
}

#[test]
fn no_two_jitters_draw_alike() {
    let one = Jitter::full();
    let sequences = [&one, &one.clone(), &Jitter::full(), &Jitter::default()]
        .map(|jitter| draws(jitter, SECOND, 5));
    let distinct: HashSet<_> = sequences.iter().collect();
    assert_eq!(distinct.len(), sequences.len(), "{sequences:?}");
}

#[test]
fn without_jitter_a_wait_is_its_ceiling() {
    for ceiling in [Duration::ZERO, MS, SECOND, Duration::MAX] {
        assert_eq!(Jitter::none().draw(ceiling), ceiling);
    }
}

#[test]
fn a_draw_of_the_users_is_cut_to_the_ceiling() {
    let half = Jitter::by(|ceiling| ceiling / 2);
    let more = Jitter::by(|ceiling| ceiling.saturating_mul(3));
    assert_eq!(half.draw(SECOND), 500 * MS);
    assert_eq!(more.draw(SECOND), SECOND);
    assert_eq!(more.draw(Duration::MAX), Duration::MAX);
}

fn draws(jitter: &Jitter, ceiling: Duration, count: usize) -> Vec<Duration> {
    (0..count).map(|_| jitter.draw(ceiling)).collect()
}

#[tokio::test(start_paused = true)]
async fn waits_double_up_to_the_cap_and_go_on_doubling_while_the_hint_stays() {
    let backoff = Backoff::new(100 * MS, 250 * MS).unwrap();
    let short = || exact().backoff(backoff);
    // The widest draw shows the ceilings: R + max(R/2, 1 s · 2^(n-1)).
    let widest = || exact().jitter(Jitter::by(|ceiling| ceiling));
    #[rustfmt::skip]
    let cases: [(RetryBuilder, Option<Duration>, &[u128]); 6] = [
        (short(), None, &[0, 100, 300, 550, 800]),
        // Zero is no floor, and no hot loop either.
        (short(), Some(Duration::ZERO), &[0, 100, 300, 550, 800]),
        (exact(), None, &[0, 1000, 3000, 7000, 15_000]),
        (exact(), Some(2 * SECOND), &[0, 2000, 4000, 6000, 8000]),
        (widest(), Some(SECOND), &[0, 2000, 5000, 10_000, 19_000]),
        (widest(), Some(6 * SECOND), &[0, 9000, 18_000, 28_000, 42_000]),
    ];
    for (retry, hint, expected) in cases {
        let tool = always(|| busy(hint));
        fail(retry.max_attempts(5), &tool, Call::tool("reserve")).await;
        assert_eq!(times(&tool), expected, "{hint:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn no_wait_is_shorter_than_its_hint_and_callers_with_the_same_hint_are_spread() {
    let spreads = [
        (10 * SECOND, 5 * SECOND),
        (SECOND, SECOND),
        (100 * MS, SECOND),
    ];
    for (hint, spread) in spreads {
        let mut waits = HashSet::new();
        for _ in 0..200 {
            let tool = Script::new([busy(hint), Ok(fine())]);
            let retry = exact().jitter(Jitter::full());
            make(retry, &tool, Call::tool("reserve")).await.unwrap();
            waits.insert(tool.calls()[1]);
        }
        // The timer rounds up to its millisecond.
        let range = hint..=hint + spread + MS;
        let outside: Vec<_> = waits.iter().filter(|wait| !range.contains(wait)).collect();
        assert!(outside.is_empty(), "{range:?}: {outside:?}");
        assert!(waits.len() > 100, "{hint:?}: {} waits", waits.len());
        let far = hint + spread * 9 / 10;
        assert!(waits.iter().any(|&wait| wait > far), "{hint:?}: {waits:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_wait_that_is_too_long_or_does_not_fit_is_not_begun() {
    let endless = || exact().policy(Policy::new().no_retry_window());
    let longest = || exact().max_retry_after(Duration::MAX);
    #[rustfmt::skip]
    let cases = [
        ("above the longest", endless(), 5 * MINUTE + MS, Some(Stopped::HintTooLong)),
        ("the longest", endless(), 5 * MINUTE, None),
        ("a day", exact(), 24 * HOUR, Some(Stopped::HintTooLong)),
        ("for ever", endless(), Duration::MAX, Some(Stopped::HintTooLong)),
        ("the window", exact(), 55 * SECOND, Some(Stopped::Window)),
        ("just before it", exact(), 54_999 * MS, None),
        ("beyond it", exact(), 56 * SECOND, Some(Stopped::HintTooLong)),
        ("beyond a deadline", exact().deadline(SECOND), SECOND, Some(Stopped::Deadline)),
        ("a wait of ours", exact().deadline(SECOND), Duration::ZERO, Some(Stopped::Deadline)),
        ("beyond the end of time", longest(), Duration::MAX, Some(Stopped::Window)),
    ];
    for (case, retry, hint, expected) in cases {
        let begun = Instant::now();
        let tool = Script::new([busy(hint), Ok(fine())]);
        let Err(failure) = make(retry, &tool, Call::tool("reserve")).await else {
            assert_eq!(tool.calls(), [Duration::ZERO, hint], "{case}");
            assert_eq!(expected, None, "{case}");
            continue;
        };
        assert_eq!(failure.stopped(), expected, "{case}");
        assert_eq!(failure.retry_after(), Some(hint), "{case}: it is kept");
        assert_eq!(failure.class(), Class::RateLimited, "{case}");
        let history = (failure.attempts(), failure.waits());
        assert_eq!(history, (1, &[][..]), "{case}");
        assert_eq!(begun.elapsed(), Duration::ZERO, "{case}: at once");
    }
}

#[tokio::test(start_paused = true)]
async fn no_hint_is_so_long_that_its_arithmetic_panics() {
    let almost = Duration::new(u64::MAX, 999_999_998);
    for hint in [almost, Duration::MAX, Duration::MAX / 2] {
        let trusting = || {
            exact()
                .max_retry_after(Duration::MAX)
                .jitter(Jitter::full())
        };
        let endless = [
            trusting().policy(Policy::new().no_retry_window()),
            trusting().deadline(Duration::MAX),
        ];
        for retry in endless {
            let tool = always(|| busy(hint));
            let waits = fail(retry, &tool, Call::tool("reserve"));
            let _ = tokio::time::timeout(HOUR, waits).await;
            assert_eq!(times(&tool), [0], "{hint:?}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_spread_that_does_not_fit_is_cut_but_the_hint_is_not() {
    for _ in 0..100 {
        let tool = Script::new([busy(10 * SECOND), Ok(fine())]);
        let retry = exact().jitter(Jitter::full()).deadline(11 * SECOND);
        make(retry, &tool, Call::tool("reserve")).await.unwrap();
        let again = tool.calls()[1];
        assert!((10 * SECOND..11 * SECOND).contains(&again), "{again:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn any_iterator_serves_as_waits_as_it_is_and_the_attempts_end_with_it() {
    use backon::{BackoffBuilder, ExponentialBuilder};
    let full = || exact().jitter(Jitter::full());
    let slow = || [1, 1, 2].into_iter().map(|n| n * SECOND);
    let backon = || ExponentialBuilder::default().build();
    let cases: [(RetryBuilder, Option<Duration>, &[u128]); 4] = [
        (
            full().policy(Policy::new().waits(slow)),
            None,
            &[0, 1000, 2000, 4000],
        ),
        (
            full().policy(Policy::new().waits(backon)),
            None,
            &[0, 1000, 3000, 7000],
        ),
        (full().policy(Policy::new().waits(iter::empty)), None, &[0]),
        // A hint is a floor here too.
        (
            exact().policy(Policy::new().waits(slow)),
            Some(3 * SECOND),
            &[0, 3000, 6000, 9000],
        ),
    ];
    for (retry, hint, expected) in cases {
        let retry = retry.max_attempts(9).build().unwrap();
        // Twice, for each call gets an iterator of its own.
        for _ in 0..2 {
            let tool = always(|| busy(hint));
            let tools = retry.layer(tool.clone());
            let failure = tools.oneshot(Call::tool("reserve")).await.unwrap_err();
            assert_eq!(times(&tool), expected);
            assert_eq!(failure.stopped(), Some(Stopped::Attempts));
        }
    }
}

#[cfg(feature = "backoff")]
mod of_the_backoff_crate {
    use super::{Duration, MS, SECOND};
    use ::backoff::{ExponentialBackoffBuilder, backoff as policies};
    use mcp_resilience::backoff::from_backoff_crate;

    #[test]
    fn policies_of_the_backoff_crate_are_used_as_waits() {
        let constant = policies::Constant::new(3 * SECOND);
        let constant: Vec<_> = from_backoff_crate(constant).take(3).collect();
        assert_eq!(constant, [3 * SECOND; 3]);

        let exponential = ExponentialBackoffBuilder::new()
            .with_initial_interval(100 * MS)
            .with_multiplier(3.0)
            .with_randomization_factor(0.0)
            .with_max_interval(SECOND)
            .with_max_elapsed_time(None)
            .build();
        let exponential: Vec<_> = from_backoff_crate(exponential)
            .take(4)
            // It counts in floats.
            .map(|wait| (wait.as_secs_f64() * 1e3).round())
            .collect();
        assert_eq!(exponential, [100.0, 300.0, 900.0, 1000.0]);
    }

    #[test]
    fn attempts_end_when_a_policy_of_the_backoff_crate_ends() {
        assert_eq!(from_backoff_crate(policies::Stop {}).next(), None);
        let over = ExponentialBackoffBuilder::new()
            .with_max_elapsed_time(Some(Duration::ZERO))
            .build();
        assert_eq!(from_backoff_crate(over).next(), None);
    }
}
