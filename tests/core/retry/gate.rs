//! One call's `retryAfter` holds for all calls to the same target.

mod below;
mod model;
mod refused;
mod watched;

use super::{HOUR, MINUTE, MS, SECOND, exact};
use crate::support::{Answer, Call, Strict};
use mcp_resilience::{
    Class, Delivery, Failure, ResilienceLayer,
    call_log::CallLogLayer,
    failure::Stopped,
    policy::Policy,
    retry::{Retry, RetryAfterGate, RetryBuilder},
};
use std::{
    future::Future,
    pin::Pin,
    sync::{Arc, Mutex},
    task::{Context, Poll},
    time::Duration,
};
use tokio::{
    task::JoinHandle,
    time::{Instant, Sleep, advance, sleep, sleep_until},
};
use tower::{
    BoxError, Layer, Service, ServiceBuilder, ServiceExt, limit::GlobalConcurrencyLimitLayer,
};

/// A server that asks its first callers to wait: the nth call after so long for so long, and then takes all.
#[derive(Clone, Debug)]
pub(crate) struct Server {
    begun: Instant,
    asks: Arc<Vec<(Duration, Duration)>>,
    calls: Arc<Mutex<Vec<(u128, String)>>>,
}

impl Server {
    pub(crate) fn asking(asks: impl Into<Vec<(Duration, Duration)>>) -> Self {
        Self {
            begun: Instant::now(),
            asks: Arc::new(asks.into()),
            calls: Arc::default(),
        }
    }

    /// When it was called, in milliseconds, and for which tool.
    fn calls(&self) -> Vec<(u128, String)> {
        self.calls.lock().unwrap().clone()
    }

    fn times(&self) -> Vec<u128> {
        self.calls().into_iter().map(|(at, _)| at).collect()
    }
}

impl Service<Call> for Server {
    type Response = Answer;
    type Error = BoxError;
    type Future = Pin<Box<dyn Future<Output = Result<Answer, BoxError>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, call: Call) -> Self::Future {
        let mut calls = self.calls.lock().unwrap();
        let ask = self.asks.get(calls.len()).copied();
        calls.push((self.begun.elapsed().as_millis(), call.name));
        Box::pin(async move {
            let Some((after, wait)) = ask else {
                return Ok(Answer::ok("fine"));
            };
            sleep(after).await;
            Err(Failure::rate_limited(Some(wait)).before_running().into())
        })
    }
}

/// Calls that are made at their time, through the clones of one service.
struct Callers<S>(S);

impl<S> Callers<S>
where
    S: Service<Call, Response = Answer, Error = Failure> + Clone + Send + 'static,
    S::Future: Send,
{
    fn call(&self, at: Duration, tool: &'static str) -> JoinHandle<Result<Answer, Failure>> {
        let service = self.0.clone();
        let at = Instant::now() + at;
        tokio::spawn(async move {
            sleep_until(at).await;
            service.oneshot(Call::tool(tool)).await
        })
    }
}

pub(crate) fn gated() -> RetryBuilder {
    exact().retry_after_gate(RetryAfterGate::per_tool())
}

fn through(retry: RetryBuilder, server: &Server) -> Callers<Retry<Strict<Server>>> {
    Callers(retry.build().unwrap().layer(Strict::new(server.clone())))
}

const NOW: Duration = Duration::ZERO;

#[tokio::test(start_paused = true)]
async fn later_calls_wait_for_what_the_server_asked_of_another_and_go_out_one_by_one() {
    for (retry, expected) in [
        (gated(), [0, 5000, 5010, 5020]),
        // It is off by default.
        (exact(), [0, 1000, 1000, 1000]),
    ] {
        let server = Server::asking([(NOW, 5 * SECOND)]);
        let callers = through(retry.max_attempts(1), &server);
        let first = callers.call(NOW, "search");
        let later = [0, 1, 2].map(|_| callers.call(SECOND, "search"));
        let failure = first.await.unwrap().unwrap_err();
        assert_eq!(failure.delivery(), Delivery::Refused);
        for call in later {
            call.await.unwrap().unwrap();
        }
        assert_eq!(server.times(), expected);
    }
}

#[tokio::test(start_paused = true)]
async fn a_repeat_passes_the_gate_as_a_first_attempt_does() {
    let server = Server::asking([(NOW, 5 * SECOND)]);
    let callers = through(gated(), &server);
    let calls = [callers.call(NOW, "search"), callers.call(SECOND, "search")];
    for call in calls {
        call.await.unwrap().unwrap();
    }
    // The one that came in the meantime is ahead of the repeat, whose wait is over at the same time.
    assert_eq!(server.times(), [0, 5000, 5010]);
}

#[tokio::test(start_paused = true)]
async fn a_repeat_whose_own_wait_is_shorter_waits_for_the_hint_of_another_call() {
    let begun = Instant::now();
    let calls = Arc::new(Mutex::new(Vec::new()));
    let service = tower::service_fn(|call: Call| {
        let mut calls = calls.lock().unwrap();
        calls.push((begun.elapsed().as_millis(), call.name.clone()));
        let error = match (call.name.as_str(), calls.len()) {
            (_, 3..) => None,
            ("lost", _) => Some(Failure::connection("reset").before_running()),
            _ => Some(Failure::rate_limited(Some(5 * SECOND))),
        };
        std::future::ready(error.map_or(Ok(Answer::ok("fine")), Err))
    });
    let gate = RetryAfterGate::per_server();
    let retry = exact().retry_after_gate(gate).build().unwrap();
    let service = retry.layer(service);
    let lost = service.clone().oneshot(Call::tool("lost"));
    let refused = service.oneshot(Call::tool("refused"));
    let (lost, refused) = tokio::join!(lost, refused);
    lost.unwrap();
    refused.unwrap_err();
    let calls = calls.lock().unwrap().clone();
    // Its own wait of a second, and the gate.
    assert_eq!(calls[2], (5000, "lost".to_owned()));
}

#[tokio::test(start_paused = true)]
async fn a_call_that_does_not_fit_fails_at_once_as_not_sent_with_the_hint() {
    let patient = || gated().max_retry_after(MINUTE);
    let cases = [
        (patient().retry_window(4 * SECOND), Stopped::Window),
        (
            patient()
                .policy(Policy::new().no_retry_window())
                .deadline(4 * SECOND),
            Stopped::Deadline,
        ),
        (gated().max_retry_after(SECOND), Stopped::HintTooLong),
    ];
    for (retry, stopped) in cases {
        let server = Server::asking([(NOW, 5 * SECOND)]);
        let begun = Instant::now();
        let callers = through(retry, &server);
        let first = callers.call(NOW, "search").await.unwrap().unwrap_err();
        assert_eq!(first.stopped(), Some(stopped));
        sleep(500 * MS).await;
        let later = callers.call(NOW, "search").await.unwrap().unwrap_err();
        assert_eq!(begun.elapsed(), 500 * MS, "{stopped}");
        assert_eq!(later.class(), Class::RateLimited, "{stopped}");
        assert_eq!(later.delivery(), Delivery::NotSent, "{stopped}");
        assert_eq!(later.stopped(), Some(stopped));
        assert_eq!(later.retry_after(), Some(4500 * MS), "{stopped}");
        assert_eq!(server.times(), [0], "{stopped}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_call_fits_only_if_its_turn_behind_the_others_comes_within_its_window() {
    let server = Server::asking([(NOW, 5 * SECOND)]);
    let gate = RetryAfterGate::per_tool().pace(SECOND);
    let retry = exact().retry_after_gate(gate).retry_window(7 * SECOND);
    let callers = through(retry.max_attempts(1), &server);
    callers.call(NOW, "search").await.unwrap().unwrap_err();
    let calls = [0, 1, 2].map(|_| callers.call(NOW, "search"));
    let [first, second, third] = calls;
    let third = third.await.unwrap().unwrap_err();
    assert_eq!(third.stopped(), Some(Stopped::Window));
    assert_eq!(
        third.retry_after(),
        Some(7 * SECOND),
        "the time of its turn"
    );
    first.await.unwrap().unwrap();
    second.await.unwrap().unwrap();
    assert_eq!(server.times(), [0, 5000, 6000]);
}

#[tokio::test(start_paused = true)]
async fn a_further_hint_moves_the_calls_that_wait_and_fails_those_that_no_longer_fit() {
    let server = Server::asking([(MS, 5 * SECOND), (3 * SECOND, 10 * SECOND)]);
    let begun = Instant::now();
    let retry = gated().max_attempts(1);
    let patient = through(retry.clone(), &server);
    let hasty = through(retry.retry_window(8 * SECOND), &server);
    let running = [patient.call(NOW, "search"), patient.call(NOW, "search")];
    let (patient, hasty) = (patient.call(SECOND, "search"), hasty.call(SECOND, "search"));
    let failure = hasty.await.unwrap().unwrap_err();
    assert_eq!(begun.elapsed(), 3 * SECOND, "at the time of the hint");
    // Behind the one that came before it, and still fits.
    assert_eq!(failure.retry_after(), Some(10 * SECOND + 10 * MS));
    assert_eq!(failure.delivery(), Delivery::NotSent);
    assert_eq!(failure.stopped(), Some(Stopped::Window));
    for call in running {
        call.await.unwrap().unwrap_err();
    }
    patient.await.unwrap().unwrap();
    assert_eq!(server.times(), [0, 0, 13_000]);
}

#[tokio::test(start_paused = true)]
async fn a_shorter_hint_brings_nothing_forward() {
    let server = Server::asking([(MS, 4999 * MS), (SECOND, SECOND)]);
    let callers = through(gated().max_attempts(1), &server);
    let running = [callers.call(NOW, "search"), callers.call(NOW, "search")];
    callers.call(2 * MS, "search").await.unwrap().unwrap();
    for call in running {
        call.await.unwrap().unwrap_err();
    }
    assert_eq!(server.times(), [0, 0, 5000]);
}

#[tokio::test(start_paused = true)]
async fn a_call_that_is_dropped_while_it_waits_leaves_its_place_to_the_next() {
    let server = Server::asking([(NOW, 5 * SECOND)]);
    let gate = RetryAfterGate::per_tool().pace(SECOND);
    let callers = through(exact().max_attempts(1).retry_after_gate(gate), &server);
    callers.call(NOW, "search").await.unwrap().unwrap_err();
    let calls = [0, 1, 2].map(|_| callers.call(NOW, "search"));
    sleep(SECOND).await;
    let [first, second, third] = calls;
    second.abort();
    assert!(second.await.unwrap_err().is_cancelled());
    let next = callers.call(SECOND, "search");
    for call in [first, third, next] {
        call.await.unwrap().unwrap();
    }
    assert_eq!(server.times(), [0, 5000, 6000, 7000]);
}

#[tokio::test(start_paused = true)]
async fn a_waiting_call_that_is_not_polled_delays_no_other_call() {
    let server = Server::asking([(NOW, 5 * SECOND)]);
    let callers = through(gated().max_attempts(1), &server);
    callers.call(NOW, "search").await.unwrap().unwrap_err();
    let mut stalled = Box::pin(callers.0.clone().oneshot(Call::tool("search")));
    assert!(poll_once(&mut stalled).await.is_none());
    callers.call(NOW, "search").await.unwrap().unwrap();
    assert_eq!(server.times(), [0, 5010]);
    sleep(MS).await;
    assert_eq!(stalled.await.unwrap(), Answer::ok("fine"));
    assert_eq!(
        server.times(),
        [0, 5010, 5011],
        "late by less than is let pass"
    );
}

async fn poll_once<F: Future + Unpin>(future: &mut F) -> Option<F::Output> {
    std::future::poll_fn(|cx| match Pin::new(&mut *future).poll(cx) {
        Poll::Ready(output) => Poll::Ready(Some(output)),
        Poll::Pending => Poll::Ready(None),
    })
    .await
}

#[tokio::test(start_paused = true)]
async fn nothing_is_held_while_a_call_waits_at_the_gate() {
    let server = Server::asking([(NOW, 5 * SECOND)]);
    let layers = ServiceBuilder::new()
        .layer(gated().max_attempts(1).build().unwrap())
        .layer(GlobalConcurrencyLimitLayer::new(1))
        .layer_fn(Strict::new);
    let callers = Callers(layers.service(server.clone()));
    callers.call(NOW, "search").await.unwrap().unwrap_err();
    let waits = callers.call(NOW, "search");
    sleep(MS).await;
    callers.call(NOW, "other").await.unwrap().unwrap();
    waits.await.unwrap().unwrap();
    let tools = server.calls();
    let expected = [(0, "search"), (1, "other"), (5000, "search")];
    assert_eq!(tools, expected.map(|(at, tool)| (at, tool.to_owned())));
}

/// Ready at once for its first call, and after 1 s for each later one.
#[derive(Debug)]
struct Slow(Server, Option<Pin<Box<Sleep>>>);

impl Clone for Slow {
    fn clone(&self) -> Self {
        Self(self.0.clone(), None)
    }
}

impl Service<Call> for Slow {
    type Response = Answer;
    type Error = BoxError;
    type Future = <Server as Service<Call>>::Future;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        if self.0.calls().len() < 2 {
            return Poll::Ready(Ok(()));
        }
        let sleep = self.1.get_or_insert_with(|| Box::pin(sleep(SECOND)));
        sleep.as_mut().poll(cx).map(Ok)
    }

    fn call(&mut self, call: Call) -> Self::Future {
        self.0.call(call)
    }
}

#[tokio::test(start_paused = true)]
async fn a_hint_that_comes_while_a_held_call_waits_for_the_service_is_obeyed_too() {
    let server = Server::asking([(MS, 1999 * MS), (2500 * MS, 5 * SECOND)]);
    let retry = gated().max_attempts(1).build().unwrap();
    let callers = Callers(retry.layer(Strict::new(Slow(server.clone(), None))));
    let running = [callers.call(NOW, "search"), callers.call(NOW, "search")];
    // Its turn is at 2 s, and the service is ready for it at 3 s; but at 2.5 s the hint comes.
    callers.call(2 * MS, "search").await.unwrap().unwrap();
    for call in running {
        call.await.unwrap().unwrap_err();
    }
    assert_eq!(server.times(), [0, 0, 8500]);
}

#[tokio::test(start_paused = true)]
async fn each_target_has_its_own_hints() {
    let gates = [
        (
            RetryAfterGate::per_tool(),
            [(10, "search_books"), (20, "search_names"), (30, "buy")],
        ),
        (
            RetryAfterGate::per_server(),
            [
                (1000, "search_books"),
                (1010, "search_names"),
                (1020, "buy"),
            ],
        ),
        (
            RetryAfterGate::by(|call| call.name().split('_').next().map(str::to_owned)),
            [(30, "buy"), (1000, "search_books"), (1010, "search_names")],
        ),
    ];
    for (gate, expected) in gates {
        let asks_tool = if expected[0].0 == 10 {
            "quote"
        } else {
            "search_all"
        };
        let server = Server::asking([(NOW, SECOND)]);
        let callers = through(exact().max_attempts(1).retry_after_gate(gate), &server);
        callers.call(NOW, asks_tool).await.unwrap().unwrap_err();
        let calls = [(10, "search_books"), (20, "search_names"), (30, "buy")];
        for call in calls.map(|(at, tool)| callers.call(at * MS, tool)) {
            call.await.unwrap().unwrap();
        }
        let calls = server.calls();
        let expected = expected.map(|(at, tool)| (at, tool.to_owned()));
        assert_eq!(calls[1..], expected);
    }
}

#[tokio::test(start_paused = true)]
async fn layers_that_have_clones_of_one_gate_wait_for_the_same_hints() {
    let gate = RetryAfterGate::per_tool();
    let server = Server::asking([(NOW, 5 * SECOND)]);
    let one = through(
        exact().max_attempts(1).retry_after_gate(gate.clone()),
        &server,
    );
    let log = CallLogLayer::off();
    let preset = ResilienceLayer::builder().retry_after_gate(gate).log(log);
    let other = Callers(preset.build().unwrap().layer(Strict::new(server.clone())));
    one.call(NOW, "search").await.unwrap().unwrap_err();
    other.call(NOW, "search").await.unwrap().unwrap();
    assert_eq!(server.times(), [0, 5000]);
}

#[tokio::test(start_paused = true)]
async fn the_pace_doubles_every_five_seconds_and_ends_after_fifty() {
    let server = Server::asking([(NOW, SECOND)]);
    let gate = RetryAfterGate::per_tool().pace(2 * SECOND);
    let callers = through(exact().max_attempts(1).retry_after_gate(gate), &server);
    callers.call(NOW, "search").await.unwrap().unwrap_err();
    let calls: Vec<_> = (0..9).map(|_| callers.call(NOW, "search")).collect();
    for call in calls {
        call.await.unwrap().unwrap();
    }
    let expected = [1000, 3000, 5000, 7000, 8000, 9000, 10_000, 11_000, 11_500];
    assert_eq!(server.times()[1..], expected);
    sleep(50 * SECOND).await;
    let free = [0, 1, 2].map(|_| callers.call(NOW, "search"));
    for call in free {
        call.await.unwrap().unwrap();
    }
    assert_eq!(server.times()[10..], [61_500; 3]);
}

#[tokio::test(start_paused = true)]
async fn calls_that_slept_with_the_machine_do_not_go_out_all_at_once() {
    let server = Server::asking([(NOW, 2 * SECOND)]);
    let callers = through(gated().max_attempts(1), &server);
    callers.call(NOW, "search").await.unwrap().unwrap_err();
    let calls = [0, 1, 2].map(|_| callers.call(NOW, "search"));
    sleep(MS).await;
    advance(4 * SECOND).await;
    for call in calls {
        call.await.unwrap().unwrap();
    }
    assert_eq!(server.times(), [0, 4001, 4011, 4021]);
}

#[tokio::test(start_paused = true)]
async fn only_failures_that_time_may_heal_close_the_gate() {
    let hint = Some(5 * SECOND);
    for (failure, is_closed) in [
        (Failure::at_capacity(hint), true),
        (Failure::unavailable(hint), true),
        (Failure::upstream("503").with_retry_after(hint), true),
        (Failure::rate_limited(Some(NOW)), false),
        (Failure::rate_limited(None), false),
        (
            Failure::invalid_input("title", "too long").with_retry_after(hint),
            false,
        ),
        (Failure::tool("no").with_retry_after(hint), false),
    ] {
        let text = format!("{failure:?}");
        let mut failure = Some(failure);
        let calls = Arc::new(Mutex::new(0));
        let counted = Arc::clone(&calls);
        let service = tower::service_fn(move |_: Call| {
            *counted.lock().unwrap() += 1;
            std::future::ready(failure.take().map_or(Ok(Answer::ok("fine")), Err))
        });
        let service = Arc::new(Mutex::new(service));
        let shared = tower::service_fn(move |call| service.lock().unwrap().call(call));
        let retry = gated()
            .max_attempts(1)
            .retry_window(SECOND)
            .build()
            .unwrap();
        let service = retry.layer(shared);
        service.clone().oneshot(Call::tool("t")).await.unwrap_err();
        let later = service.oneshot(Call::tool("t")).await;
        assert_eq!(later.is_err(), is_closed, "{text}");
        assert_eq!(
            *calls.lock().unwrap(),
            if is_closed { 1 } else { 2 },
            "{text}"
        );
    }
}

#[tokio::test(start_paused = true)]
async fn a_hint_closes_a_target_for_an_hour_at_most() {
    let server = Server::asking([(NOW, 24 * HOUR)]);
    let callers = through(gated(), &server);
    let first = callers.call(NOW, "search").await.unwrap().unwrap_err();
    assert_eq!(first.stopped(), Some(Stopped::HintTooLong));
    sleep(59 * MINUTE).await;
    let later = callers.call(NOW, "search").await.unwrap().unwrap_err();
    assert_eq!(later.retry_after(), Some(MINUTE));
    sleep(MINUTE).await;
    callers.call(NOW, "search").await.unwrap().unwrap();
}

#[tokio::test(start_paused = true)]
async fn no_wait_is_forgotten_however_many_targets_there_are() {
    let calls = Arc::new(Mutex::new(0));
    let service = tower::service_fn(|call: Call| {
        *calls.lock().unwrap() += 1;
        let wait = call.name.parse().unwrap();
        let failure = Failure::rate_limited(Some(Duration::from_secs(wait)));
        std::future::ready(Err::<Answer, _>(failure))
    });
    let service = gated().max_attempts(1).build().unwrap().layer(service);
    let call = |number: u32| service.clone().oneshot(Call::tool(&number.to_string()));
    let targets = 100..100 + 3_000;
    for number in targets.clone() {
        call(number).await.unwrap_err();
    }
    assert_eq!(*calls.lock().unwrap(), 3_000);
    for number in targets {
        let delivery = call(number).await.unwrap_err().delivery();
        assert_eq!(delivery, Delivery::NotSent, "{number}");
    }
    assert_eq!(*calls.lock().unwrap(), 3_000);
    sleep(3_100 * SECOND).await;
    call(100).await.unwrap_err();
    assert_eq!(*calls.lock().unwrap(), 3_001, "its wait is over");
}

#[tokio::test(start_paused = true)]
async fn a_held_call_is_made_when_the_service_is_ready_or_fails_with_the_window() {
    #[derive(Clone)]
    struct Full(Server);
    impl Service<Call> for Full {
        type Response = Answer;
        type Error = BoxError;
        type Future = <Server as Service<Call>>::Future;
        fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
            let is_full = !self.0.calls().is_empty() && self.0.begun.elapsed() > SECOND;
            if is_full {
                Poll::Pending
            } else {
                Poll::Ready(Ok(()))
            }
        }
        fn call(&mut self, call: Call) -> Self::Future {
            self.0.call(call)
        }
    }
    let server = Server::asking([(NOW, 5 * SECOND)]);
    let begun = Instant::now();
    let retry = gated().retry_window(9 * SECOND).max_attempts(1).build();
    let callers = Callers(retry.unwrap().layer(Full(server.clone())));
    callers.call(NOW, "search").await.unwrap().unwrap_err();
    let failure = callers.call(NOW, "search").await.unwrap().unwrap_err();
    assert_eq!(begun.elapsed(), 9 * SECOND);
    assert_eq!(failure.class(), Class::Timeout);
    assert_eq!(failure.delivery(), Delivery::NotSent);
    assert_eq!(failure.stopped(), Some(Stopped::Window));
}
