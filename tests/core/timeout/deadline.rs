//! The deadline of a call follows progress too, and the retry window does not.

use super::{HOUR, MINUTE, SECOND, Slow, reports};
use crate::support::{Answer, Call, Script};
use mcp_resilience::{
    Failure, ResilienceLayer,
    backoff::Jitter,
    call_log::CallLogLayer,
    failure::{Limit, Stopped},
    policy::Policy,
    policy::Problem,
    retry::{RetryBuilder, RetryLayer},
};
use std::{
    sync::atomic::{AtomicU32, Ordering::Relaxed},
    time::Duration,
};
use tokio::time::{Instant, sleep};
use tower::{BoxError, Layer, ServiceExt, service_fn};

fn exact() -> RetryBuilder {
    RetryLayer::builder()
        .jitter(Jitter::none())
        .policy(Policy::new().no_budget())
}

async fn ends(retry: RetryBuilder, times: u32, silence: Duration) -> (Duration, Option<Failure>) {
    let tool = service_fn(move |call: Slow| async move {
        let ticker = call.progress.ticker();
        Ok::<_, BoxError>(reports(ticker, times, 2 * SECOND, silence).await)
    });
    let begun = Instant::now();
    let answer = retry
        .build()
        .unwrap()
        .layer(tool)
        .oneshot(Slow::default())
        .await;
    (begun.elapsed(), answer.err())
}

#[tokio::test(start_paused = true)]
async fn the_deadline_counts_from_the_last_report_up_to_the_ceiling() {
    let five = || exact().deadline(5 * SECOND);
    let (at, failure) = ends(five(), 30, SECOND).await;
    assert_eq!(at, 61 * SECOND);
    assert!(failure.is_none());

    let (at, failure) = ends(five(), 30, MINUTE).await;
    assert_eq!(at, 65 * SECOND);
    let failure = failure.unwrap();
    assert_eq!(failure.stopped(), Some(Stopped::Deadline));
    let reached = failure.limit().unwrap();
    assert_eq!(
        (reached.limit(), reached.value()),
        (Limit::Deadline, 5 * SECOND)
    );

    for (retry, ceiling) in [
        (five(), HOUR),
        (five().policy(Policy::new().ceiling(MINUTE)), MINUTE),
    ] {
        let (at, failure) = ends(retry, 100_000, MINUTE).await;
        assert_eq!(at, ceiling);
        let failure = failure.unwrap();
        let reached = failure.limit().unwrap();
        assert_eq!(
            (reached.limit(), reached.value()),
            (Limit::Ceiling, ceiling)
        );
    }
}

#[tokio::test(start_paused = true)]
async fn a_report_that_comes_after_its_attempt_failed_does_not_extend_the_deadline() {
    static CALLS: AtomicU32 = AtomicU32::new(0);
    let tool = service_fn(async |call: Slow| {
        let ticker = call.progress.ticker();
        if CALLS.fetch_add(1, Relaxed) > 0 {
            sleep(HOUR).await;
        }
        tokio::spawn(async move {
            for _ in 0..100 {
                sleep(SECOND).await;
                ticker.tick();
            }
        });
        Err::<Answer, BoxError>(Failure::rate_limited(None).before_running().into())
    });
    let begun = Instant::now();
    let retry = exact().deadline(5 * SECOND).build().unwrap();
    let failure = retry.layer(tool).oneshot(Slow::default()).await;
    assert_eq!(failure.unwrap_err().stopped(), Some(Stopped::Deadline));
    assert_eq!(begun.elapsed(), 5 * SECOND);
}

#[tokio::test(start_paused = true)]
async fn an_attempt_that_runs_is_not_cut_off_by_the_retry_window_but_no_further_one_begins() {
    let lost = || Err(Failure::connection("reset by peer").into());
    let cases = [
        // Each attempt's length; when they begin, and why there was no further one.
        (vec![90], vec![0], Stopped::Window),
        (vec![20, 20, 20], vec![0, 21, 43], Stopped::Attempts),
        (vec![54, 1], vec![0], Stopped::Window),
        (vec![53, 90], vec![0, 54], Stopped::Window),
    ];
    for (lengths, begins, stopped) in cases {
        let steps = lengths.iter().map(|&length| (length * SECOND, lost()));
        let tool = Script::timed(steps);
        let retry = exact().build().unwrap().layer(tool.clone());
        let failure = retry.oneshot(Call::read_only("look")).await.unwrap_err();
        assert_eq!(failure.stopped(), Some(stopped), "{lengths:?}");
        let calls = tool.calls();
        let calls: Vec<_> = calls.iter().map(Duration::as_secs).collect();
        assert_eq!(calls, begins, "{lengths:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn the_retry_window_is_the_deadline_where_only_that_is_set() {
    let window = |retry: RetryBuilder| retry.build().unwrap().retry_window();
    assert_eq!(window(exact()), Some(55 * SECOND));
    assert_eq!(window(exact().deadline(HOUR)), Some(HOUR));
    assert_eq!(window(exact().deadline(SECOND)), Some(SECOND));
    assert_eq!(
        window(exact().policy(Policy::new().no_deadline())),
        Some(55 * SECOND)
    );
    let ten = || exact().retry_window(10 * SECOND);
    assert_eq!(window(ten()), Some(10 * SECOND));
    assert_eq!(window(ten().deadline(HOUR)), Some(10 * SECOND));
    assert_eq!(
        window(ten().policy(Policy::new().no_deadline())),
        Some(10 * SECOND)
    );
    assert_eq!(
        window(exact().policy(Policy::new().no_retry_window())),
        None
    );
    let both = exact()
        .policy(Policy::new().no_retry_window())
        .deadline(SECOND);
    assert_eq!(window(both), Some(SECOND), "nothing begins after the end");
}

#[test]
fn windows_and_deadlines_that_cannot_work_are_refused_when_built() {
    let problem = |retry: RetryBuilder| retry.build().unwrap_err().problem();
    assert_eq!(
        problem(exact().deadline(Duration::ZERO)),
        Problem::ZeroDeadline
    );
    assert_eq!(
        problem(exact().policy(Policy::new().ceiling(Duration::ZERO))),
        Problem::ZeroCeiling
    );
    let zero = exact().retry_window(Duration::ZERO);
    assert_eq!(problem(zero), Problem::ZeroRetryWindow);
    let (window, deadline) = (2 * SECOND, SECOND);
    let beyond = exact().retry_window(window).deadline(deadline);
    assert_eq!(
        problem(beyond),
        Problem::WindowBeyondDeadline { window, deadline }
    );
    let (deadline, ceiling) = (2 * SECOND, SECOND);
    let beyond = exact()
        .deadline(deadline)
        .policy(Policy::new().ceiling(ceiling));
    assert_eq!(
        problem(beyond),
        Problem::DeadlineBeyondCeiling { deadline, ceiling }
    );
}

#[tokio::test(start_paused = true)]
async fn a_call_waits_for_a_first_readiness_for_as_long_as_its_ready_timeout() {
    let settings = || ResilienceLayer::builder().log(CallLogLayer::off());
    let short = settings().ready_timeout(5 * SECOND).build().unwrap();
    for (layer, ready_timeout) in [
        (settings().build().unwrap(), 55 * SECOND),
        (short, 5 * SECOND),
    ] {
        let retry = layer.layer(tower::limit::ConcurrencyLimit::new(Script::new([]), 0));
        let begun = Instant::now();
        let answer = retry.oneshot(Call::tool("pay")).await.unwrap();
        assert!(answer.is_error);
        assert!(begun.elapsed() >= ready_timeout);
        assert!(
            answer.text().contains("was not ready in time"),
            "{}",
            answer.text()
        );
    }
}

#[tokio::test(start_paused = true)]
async fn a_repeat_without_a_wait_needs_no_timer() {
    // No timer can be made outside of a runtime that has one.
    let steps = || {
        [
            Err(Failure::rate_limited(None).before_running().into()),
            Ok(Answer::ok("fine")),
        ]
    };
    let tool = Script::new(steps());
    let none = || exact().policy(Policy::new().waits(|| std::iter::repeat(Duration::ZERO)));
    let begun = Instant::now();
    let retry = none().build().unwrap().layer(tool.clone());
    retry.oneshot(Call::tool("pay")).await.unwrap();
    assert_eq!(begun.elapsed(), Duration::ZERO, "the clock did not move");
    assert_eq!(tool.calls(), [Duration::ZERO; 2]);

    let call = std::thread::spawn(move || {
        let retry = none().build().unwrap().layer(Script::new(steps()));
        let runtime = tokio::runtime::Builder::new_current_thread().build();
        runtime.unwrap().block_on(retry.oneshot(Call::tool("pay")))
    });
    assert_eq!(call.join().unwrap().unwrap(), Answer::ok("fine"));
}
