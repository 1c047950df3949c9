//! Calls at the same time.

use crate::{
    stack::{MS, SECOND, Server, Step, fails, fine, gives, preset, retry},
    support::{Answer, Call, Lines, Script},
};
use mcp_resilience::{Failure, always_ready::AlwaysReadyLayer, retry::RetryLayer};
use std::{
    iter,
    pin::pin,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering::Relaxed},
    },
    task::{Context, Wake, Waker},
};
use tokio::{
    task::JoinSet,
    time::{Instant, sleep, timeout},
};
use tower::{
    BoxError, Layer, Service, ServiceBuilder, ServiceExt,
    limit::{ConcurrencyLimit, ConcurrencyLimitLayer},
    service_fn,
};

/// Each call takes half a second. One of them is refused at first.
async fn half_a_second(call: Call) -> Result<Answer, BoxError> {
    sleep(500 * MS).await;
    if call.name == "refused" {
        return fails(Failure::rate_limited(Some(60 * SECOND)).before_running());
    }
    fine()
}

#[tokio::test(start_paused = true)]
async fn case_097_calls_on_clones_run_at_the_same_time_and_one_that_waits_delays_none() {
    let stack = preset(&Lines::default(), retry()).build().unwrap();
    let served = stack.layer(service_fn(half_a_second));
    let refused = tokio::spawn(served.clone().oneshot(Call::tool("refused")));
    for _ in 0..2 {
        let before = Instant::now();
        let mut calls = JoinSet::new();
        for _ in 0..5 {
            calls.spawn(served.clone().oneshot(Call::tool("look")));
        }
        for answer in calls.join_all().await {
            assert_eq!(answer.unwrap(), Answer::ok("fine"));
        }
        assert_eq!(before.elapsed(), 500 * MS);
    }
    assert!(!refused.is_finished(), "it waits");
    refused.abort();

    // On one connection too.
    let begun = Instant::now();
    let connection = Script::timed(iter::repeat_with(|| (500 * MS, fine())).take(5));
    let shared = Server::new([gives(&connection)]);
    let mut calls = JoinSet::new();
    for _ in 0..5 {
        let stack = shared.stack.clone();
        calls.spawn(stack.oneshot(Call::tool("look")));
    }
    for answer in calls.join_all().await {
        assert_eq!(answer.unwrap(), Answer::ok("fine"));
    }
    assert_eq!(begun.elapsed(), 500 * MS);
}

#[tokio::test(start_paused = true)]
async fn case_098_calls_that_overlap_leave_the_queue_in_order_also_when_one_of_them_is_dropped() {
    let connection = Script::timed(iter::repeat_with(|| (500 * MS, fine())).take(9));
    let limited = ConcurrencyLimitLayer::new(1).layer(connection.clone());
    let stack = preset(&Lines::default(), retry()).build().unwrap();
    let limited = stack.layer(limited);
    let slow_dial = Server::new([(
        SECOND,
        Ok(Script::timed(
            iter::repeat_with(|| (500 * MS, fine())).take(9),
        )),
    )]);
    for drops in [false, true] {
        for is_limited in [true, false] {
            let call = || {
                if is_limited {
                    tokio::spawn(limited.clone().oneshot(Call::tool("look")))
                } else {
                    tokio::spawn(slow_dial.stack.clone().oneshot(Call::tool("look")))
                }
            };
            let first = call();
            let second = call();
            sleep(100 * MS).await;
            if drops {
                second.abort();
            }
            let third = call();
            let all = async {
                assert_eq!(first.await.unwrap().unwrap(), Answer::ok("fine"));
                assert_eq!(second.await.is_ok(), !drops);
                assert_eq!(third.await.unwrap().unwrap(), Answer::ok("fine"));
            };
            timeout(20 * SECOND, all).await.expect("all of them end");
        }
    }
}

/// Counts wake-ups.
#[derive(Default)]
struct Woken(AtomicUsize);

impl Wake for Woken {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Relaxed);
    }
}

#[tokio::test(start_paused = true)]
async fn case_099_readiness_is_reserved_wakes_once_and_goes_back_when_it_is_dropped() {
    let layers = ServiceBuilder::new().layer(RetryLayer::new());
    let tool = service_fn(half_a_second);
    let served = layers.service(ConcurrencyLimit::new(tool, 2));
    let mut clones: Vec<_> = (0..4).map(|_| served.clone()).collect();
    let woken = Arc::<Woken>::default();
    let waker = Waker::from(Arc::clone(&woken));
    let mut cx = Context::from_waker(&waker);
    let mut ready = |service: &mut _| Service::<Call>::poll_ready(service, &mut cx).is_ready();
    let admitted: Vec<_> = clones.iter_mut().map(&mut ready).collect();
    assert_eq!(
        admitted,
        [true, true, false, false],
        "no more than there is room for"
    );
    sleep(SECOND).await;
    assert_eq!(
        woken.0.load(Relaxed),
        0,
        "who waits is not woken for nothing"
    );

    // A call takes the place with it, and gives it back when it is dropped.
    let call = clones[0].call(Call::tool("look"));
    assert!(!ready(&mut clones[2]));
    drop(call);
    assert_eq!(woken.0.load(Relaxed), 1, "for the place that is free");
    assert!(ready(&mut clones[2]));
    // So does a service that was ready and is dropped.
    drop(clones.remove(1));
    assert!(ready(&mut clones[2]));
}

#[tokio::test(start_paused = true)]
async fn case_099_calls_that_are_dropped_while_they_wait_leave_no_place_taken() {
    let limited = ConcurrencyLimit::new(service_fn(half_a_second), 2);
    let served = AlwaysReadyLayer::new().layer(limited);
    let woken = Arc::<Woken>::default();
    let waker = Waker::from(Arc::clone(&woken));
    let mut cx = Context::from_waker(&waker);
    for _ in 0..100 {
        let mut calls: Vec<_> = (0..4)
            .map(|_| Box::pin(served.clone().oneshot(Call::tool("look"))))
            .collect();
        for call in &mut calls {
            assert!(pin!(call).poll(&mut cx).is_pending());
        }
    }
    let begun = Instant::now();
    let (one, other) = tokio::join!(
        served.clone().oneshot(Call::tool("look")),
        served.clone().oneshot(Call::tool("look"))
    );
    one.and(other).unwrap();
    assert_eq!(begun.elapsed(), 500 * MS, "both at once");
}

#[tokio::test(start_paused = true)]
async fn case_138_a_call_that_reached_a_worker_that_died_is_not_made_again() {
    let ran = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&ran);
    let dies = service_fn(move |_: Call| {
        count.fetch_add(1, Relaxed);
        die()
    });
    let lines = Lines::default();
    let buffered = ServiceBuilder::new().buffer(4).service(dies);
    let served = preset(&lines, retry()).build().unwrap().layer(buffered);
    for at in 0..3 {
        let answer = served.clone().oneshot(Call::tool("book")).await.unwrap();
        assert!(answer.is_error);
        let line = lines.all().pop().unwrap();
        let (delivery, attempts) = if at == 0 {
            ("unknown", 1)
        } else {
            // The call could not be passed to the worker.
            ("not_sent", 4)
        };
        assert_eq!(line["delivery"], delivery, "{line}");
        assert_eq!(line["attempts"], attempts, "{line}");
    }
    assert_eq!(ran.load(Relaxed), 1);
}

fn die() -> std::future::Ready<Step> {
    panic!("the worker dies in the call")
}
