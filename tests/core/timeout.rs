//! The timeout of an attempt, which counts from the last progress report.

mod deadline;

use crate::support::{Call, Strict};
use mcp_resilience::{
    Class, Delivery, Failure, ResilienceLayer,
    backoff::Jitter,
    call::{Arguments, Hints, Progress, Ticker, ToolCall},
    call_log::CallLogLayer,
    failure::Limit,
    policy::Problem,
    retry::RetryLayer,
    timeout::TimeoutLayer,
};
use std::{
    future::pending,
    sync::{Arc, Mutex},
    time::Duration,
};
use tokio::time::{Instant, advance, sleep, timeout};
use tower::{BoxError, Layer, Service, ServiceExt, limit::ConcurrencyLimit, service_fn};

pub(crate) const SECOND: Duration = Duration::from_secs(1);
pub(crate) const MINUTE: Duration = Duration::from_secs(60);
pub(crate) const HOUR: Duration = Duration::from_secs(3600);

/// A call that can report progress.
#[derive(Clone, Debug, Default)]
pub(crate) struct Slow {
    pub(crate) progress: Progress,
}

impl ToolCall for Slow {
    fn name(&self) -> &'static str {
        "print_catalog"
    }

    fn hints(&self) -> Hints {
        Hints::new().read_only(true)
    }

    fn arguments(&self) -> Option<Arguments<'_>> {
        None
    }

    fn progress(&self) -> Option<&Progress> {
        Some(&self.progress)
    }
}

/// Reports this many times at these intervals, is then silent for this long, and answers.
pub(crate) async fn reports(
    ticker: Ticker,
    times: u32,
    every: Duration,
    silence: Duration,
) -> crate::support::Answer {
    for _ in 0..times {
        sleep(every).await;
        ticker.tick();
    }
    sleep(silence).await;
    crate::support::Answer::ok("printed")
}

/// How a call ends that does so behind this layer, and when.
async fn ends(
    layer: &TimeoutLayer,
    times: u32,
    every: Duration,
    silence: Duration,
) -> (Duration, Result<(), Failure>) {
    let tool = service_fn(move |call: Slow| async move {
        Ok::<_, BoxError>(reports(call.progress.ticker(), times, every, silence).await)
    });
    let begun = Instant::now();
    let answer = layer.layer(tool).oneshot(Slow::default()).await;
    (begun.elapsed(), answer.map(drop).map_err(Failure::from))
}

#[tokio::test(start_paused = true)]
async fn a_silent_attempt_ends_at_its_limit_and_the_failure_names_it() {
    let layer = TimeoutLayer::new(30 * SECOND).unwrap();
    let (at, ended) = ends(&layer, 0, SECOND, 30 * SECOND + Duration::from_millis(1)).await;
    assert_eq!(at, 30 * SECOND);
    let failure = ended.unwrap_err();
    assert_eq!(failure.class(), Class::Timeout);
    assert_eq!(failure.delivery(), Delivery::Unknown);
    assert_eq!(failure.to_string(), "no answer in time", "for the model");
    let reached = failure.limit().unwrap();
    assert_eq!(
        (reached.limit(), reached.value()),
        (Limit::Attempt, 30 * SECOND)
    );
    assert_eq!(reached.limit().setting(), "attempt_timeout");
    assert_eq!(
        failure.chain().to_string(),
        "no answer in time: no answer and no progress within 30s, the limit of an attempt; to allow more, raise `attempt_timeout`"
    );

    let (at, ended) = ends(&layer, 0, SECOND, 29 * SECOND).await;
    assert_eq!(at, 29 * SECOND);
    assert!(ended.is_ok());
}

#[tokio::test(start_paused = true)]
async fn progress_keeps_an_attempt_alive_and_it_ends_one_limit_after_the_last_report() {
    let layer = TimeoutLayer::new(3 * SECOND).unwrap();
    // Case 124: every half second, an answer after 4 s, a limit of 3 s.
    let (at, ended) = ends(&layer, 8, SECOND / 2, Duration::ZERO).await;
    assert_eq!(at, 4 * SECOND);
    assert!(ended.is_ok());

    let (at, ended) = ends(&layer, 300, 2 * SECOND, HOUR).await;
    assert_eq!(at, 603 * SECOND);
    assert_eq!(ended.unwrap_err().limit().unwrap().limit(), Limit::Attempt);

    let (at, ended) = ends(&layer, 300, 4 * SECOND, Duration::ZERO).await;
    assert_eq!(at, 3 * SECOND, "the first report comes too late");
    assert!(ended.is_err());
}

#[tokio::test(start_paused = true)]
async fn an_attempt_that_reports_for_ever_ends_at_the_ceiling() {
    let default = TimeoutLayer::new(30 * SECOND).unwrap();
    let low = TimeoutLayer::builder(30 * SECOND).ceiling(MINUTE).build();
    let long = TimeoutLayer::new(2 * HOUR).unwrap();
    for (layer, ceiling, limit) in [
        (default, HOUR, Limit::Ceiling),
        (low.unwrap(), MINUTE, Limit::Ceiling),
        (long, 2 * HOUR, Limit::Attempt),
    ] {
        let (at, ended) = ends(&layer, 100_000, 7 * SECOND, HOUR).await;
        assert_eq!(at, ceiling);
        let failure = ended.unwrap_err();
        let reached = failure.limit().unwrap();
        assert_eq!((reached.limit(), reached.value()), (limit, ceiling));
    }
}

#[tokio::test(start_paused = true)]
async fn the_limit_counts_from_the_first_time_that_the_attempt_is_waited_for() {
    let layer = TimeoutLayer::new(10 * SECOND).unwrap();
    let mut tools = layer.layer(service_fn(async |_: Call| {
        pending::<Result<(), BoxError>>().await
    }));
    let call = tools.ready().await.unwrap().call(Call::tool("pay"));
    advance(MINUTE).await;
    let begun = Instant::now();
    assert!(call.await.is_err());
    assert_eq!(begun.elapsed(), 10 * SECOND);
}

#[tokio::test(start_paused = true)]
async fn errors_and_readiness_are_those_of_the_service_within() {
    let layer = TimeoutLayer::new(SECOND).unwrap();
    let fails = service_fn(async |_: Call| Err::<(), _>(std::io::Error::other("disk full")));
    let error = layer.layer(fails).oneshot(Call::tool("save")).await;
    assert!(error.unwrap_err().is::<std::io::Error>());

    let limited = ConcurrencyLimit::new(
        Strict::new(service_fn(async |_: Call| Ok::<_, BoxError>(()))),
        1,
    );
    let mut holder = layer.layer(limited);
    let mut other = holder.clone();
    holder.ready().await.unwrap();
    assert!(timeout(HOUR, other.ready()).await.is_err());
    holder.call(Call::tool("first")).await.unwrap();
    other
        .ready()
        .await
        .unwrap()
        .call(Call::tool("second"))
        .await
        .unwrap();
}

#[tokio::test(start_paused = true)]
async fn reports_of_an_abandoned_attempt_do_not_extend_a_later_one() {
    // Each attempt hangs. The ticker of the first attempt goes on for ever in another task.
    let first = Arc::new(Mutex::new(None::<Ticker>));
    let tool = {
        let first = Arc::clone(&first);
        service_fn(move |call: Slow| {
            let ticker = call.progress.ticker();
            first.lock().unwrap().get_or_insert_with(|| ticker.clone());
            pending::<Result<crate::support::Answer, BoxError>>()
        })
    };
    let retry = RetryLayer::builder().jitter(Jitter::none());
    let stack = ResilienceLayer::builder()
        .log(CallLogLayer::off())
        .retry(retry.max_attempts(2).build().unwrap())
        .attempt_timeout(10 * SECOND)
        .build()
        .unwrap()
        .layer(tool);
    let begun = Instant::now();
    let call = tokio::spawn(stack.oneshot(Slow::default()));
    let late = tokio::spawn(async move {
        // It stops while the first attempt runs: that one ends at 15 s.
        for second in 1.. {
            sleep(SECOND).await;
            if (6..16).contains(&second) {
                continue;
            }
            first.lock().unwrap().as_ref().unwrap().tick();
        }
    });
    assert!(call.await.unwrap().unwrap().is_error);
    late.abort();
    // 5 + 10 s, a wait of 1 s, and 10 s.
    assert_eq!(begun.elapsed(), 26 * SECOND);
}

#[tokio::test(start_paused = true)]
async fn behind_the_preset_slow_tools_succeed_by_default_if_they_are_alive_or_quick_enough() {
    let stack = |times, every, silence| {
        let layer = ResilienceLayer::builder().log(CallLogLayer::off());
        layer
            .build()
            .unwrap()
            .layer(service_fn(move |call: Slow| async move {
                Ok::<_, BoxError>(reports(call.progress.ticker(), times, every, silence).await)
            }))
    };
    #[rustfmt::skip]
    let cases = [
        ("silent for 9 minutes", 0, SECOND, 9 * MINUTE, 9 * MINUTE, false),
        ("50 minutes, a report every 10 s", 300, 10 * SECOND, Duration::ZERO, 50 * MINUTE, false),
        ("stops reporting", 6, 10 * SECOND, HOUR, 11 * MINUTE, true),
        ("reports for ever", 100_000, 10 * SECOND, HOUR, HOUR, true),
    ];
    for (case, times, every, silence, end, is_error) in cases {
        let begun = Instant::now();
        let answer = stack(times, every, silence).oneshot(Slow::default()).await;
        let answer = answer.unwrap();
        assert_eq!(begun.elapsed(), end, "{case}");
        assert_eq!(answer.is_error, is_error, "{case}");
        if is_error {
            let text = "Error executing tool print_catalog: no answer in time. Try again later.";
            assert_eq!(answer.text(), text, "{case}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn around_a_connection_the_limit_is_60_s_by_default() {
    let connector = service_fn(async |()| {
        let hangs =
            service_fn(async |_: Call| pending::<Result<crate::support::Answer, BoxError>>().await);
        Ok::<_, BoxError>(hangs)
    });
    let settings = || ResilienceLayer::builder().log(CallLogLayer::off());
    let long = settings().attempt_timeout(5 * MINUTE).build().unwrap();
    for (layer, limit) in [(settings().build().unwrap(), MINUTE), (long, 5 * MINUTE)] {
        let reconnect = mcp_resilience::reconnect::ReconnectLayer::new(());
        let (stack, _handle) = layer.connect(&reconnect, connector);
        let begun = Instant::now();
        let answer = stack.oneshot(Call::read_only("look")).await.unwrap();
        assert!(answer.is_error);
        assert_eq!(begun.elapsed(), limit);
    }
}

#[test]
fn limits_that_cannot_work_are_refused_when_built() {
    let zero = TimeoutLayer::new(Duration::ZERO).unwrap_err();
    assert_eq!(zero.problem(), Problem::ZeroAttemptTimeout);
    let low = TimeoutLayer::builder(2 * SECOND).ceiling(SECOND).build();
    assert_eq!(
        low.unwrap_err().problem(),
        Problem::AttemptBeyondCeiling {
            limit: 2 * SECOND,
            ceiling: SECOND
        }
    );
    let zero = TimeoutLayer::builder(SECOND)
        .ceiling(Duration::ZERO)
        .build();
    assert_eq!(zero.unwrap_err().problem(), Problem::ZeroCeiling);
}

#[tokio::test(start_paused = true)]
async fn a_limit_that_cannot_be_expressed_is_ignored_and_does_not_panic() {
    let layer = TimeoutLayer::new(Duration::MAX).unwrap();
    let (at, ended) = ends(&layer, 3, HOUR, 1000 * HOUR).await;
    assert_eq!(at, 1003 * HOUR);
    assert!(ended.is_ok());
}

#[test]
fn a_call_that_is_answered_at_once_sets_no_timer() {
    // This runtime has none: setting one would panic.
    let runtime = tokio::runtime::Builder::new_current_thread().build();
    let layer = ResilienceLayer::builder().log(CallLogLayer::off());
    let tool = service_fn(async |_: Slow| Ok::<_, BoxError>(crate::support::Answer::ok("fine")));
    let stack = layer.build().unwrap().layer(tool);
    let answer = runtime.unwrap().block_on(stack.oneshot(Slow::default()));
    assert_eq!(answer.unwrap().text(), "fine");
}
