//! The events of `retry`.

use super::{SECOND, exact};
use crate::support::{Answer, Call, Script, Seen};
use mcp_resilience::{
    Class, Failure,
    call::Method,
    failure::Stopped,
    observe::Event,
    policy::Policy,
    retry::{Override, RetryBuilder},
};
use std::{
    sync::{Arc, Mutex},
    task::{Context, Poll},
    time::Duration,
};
use tower::{BoxError, Layer, Service, ServiceExt};

type Fails = Box<dyn Fn() -> Failure>;

fn away() -> Failure {
    Failure::unavailable(None)
}

/// The events of one call to a tool that always fails like this.
async fn seen(retry: RetryBuilder, call: Call, failure: impl Fn() -> Failure) -> Vec<String> {
    let observer = Seen::new();
    let layer = retry.observer(observer.clone()).build().unwrap();
    let tool = Script::new((0..9).map(|_| Err(failure().into())));
    layer.layer(tool).oneshot(call).await.unwrap_err();
    observer.lines()
}

#[tokio::test(start_paused = true)]
async fn each_repeat_is_told_with_its_wait_and_the_end_with_its_reason() {
    let seen = seen(exact(), Call::read_only("quote"), away).await;
    assert_eq!(
        seen,
        [
            "0 retry_scheduled quote#1 unavailable 1s",
            "1000 retry_scheduled quote#2 unavailable 2s",
            "3000 gave_up quote#3 unavailable attempts",
        ]
    );
}

#[tokio::test(start_paused = true)]
async fn the_rest_of_the_budget_is_reported_if_the_budget_knows_it() {
    let towers = || Arc::new(tower::retry::budget::TpsBudget::default());
    let cases = [
        (exact().budget(0.2, 1), [Some(9), Some(9)]),
        (exact().budget(0.0, 3), [Some(29), Some(29)]),
        (exact().policy(Policy::new().no_budget()), [None, None]),
        (exact().shared_budget(towers()), [None, None]),
    ];
    for (retry, expected) in cases {
        let told = Arc::<Mutex<Vec<Option<u32>>>>::default();
        let left = Arc::clone(&told);
        let retry = retry.observer(move |event: &Event<'_>| {
            if let Event::RetryScheduled { budget_left, .. } = event {
                left.lock().unwrap().push(*budget_left);
            }
        });
        let tool = Script::new((0..3).map(|_| Err(away().into())));
        let tool = retry.build().unwrap().layer(tool);
        tool.oneshot(Call::read_only("quote")).await.unwrap_err();
        // A second passes between the two, and pays for the first.
        assert_eq!(*told.lock().unwrap(), expected);
    }
}

#[tokio::test(start_paused = true)]
async fn each_reason_to_give_up_is_told() {
    let asks = |seconds| move || Failure::rate_limited(Some(seconds * SECOND)).before_running();
    let (tool, read) = (Call::tool("t"), Call::read_only("t"));
    let patient = || exact().max_retry_after(60 * SECOND);
    #[rustfmt::skip]
    let cases: [(Stopped, RetryBuilder, &Call, Fails, &[&str]); 8] = [
        (Stopped::Attempts, exact().max_attempts(1), &read, Box::new(away), &[]),
        (Stopped::MayHaveRun, exact(), &tool, Box::new(|| Failure::connection("reset")), &[]),
        (Stopped::Window, patient().retry_window(5 * SECOND), &tool, Box::new(asks(10)), &[]),
        (Stopped::Deadline, patient().policy(Policy::new().no_retry_window()).deadline(5 * SECOND), &tool, Box::new(asks(10)), &[]),
        (Stopped::HintTooLong, exact().max_retry_after(9 * SECOND), &tool, Box::new(asks(10)), &[]),
        (Stopped::Budget, exact().budget(0.0, 0), &read, Box::new(away), &["0 budget_refused t#1 unavailable"]),
        (Stopped::Overridden, exact().override_verdict(|_, _, _| Override::Stop), &read, Box::new(away), &[]),
        (Stopped::Attempts, exact().policy(Policy::new().waits(std::iter::empty)), &read, Box::new(away), &[]),
    ];
    for (stopped, retry, call, failure, before) in cases {
        let class = failure().class();
        let mut expected: Vec<String> = before.iter().map(|line| (*line).to_owned()).collect();
        expected.push(format!("0 gave_up t#1 {class} {stopped}"));
        assert_eq!(
            seen(retry, call.clone(), failure).await,
            expected,
            "{stopped}"
        );
    }
}

/// Fails its first call, and is never ready for another.
#[derive(Clone)]
struct OnceReady(Arc<Mutex<bool>>);

impl Service<Call> for OnceReady {
    type Response = Answer;
    type Error = Failure;
    type Future = std::future::Ready<Result<Answer, Failure>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Failure>> {
        if *self.0.lock().unwrap() {
            return Poll::Ready(Err(Failure::connection("gone")));
        }
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, _: Call) -> Self::Future {
        *self.0.lock().unwrap() = true;
        std::future::ready(Err(away()))
    }
}

#[tokio::test(start_paused = true)]
async fn an_attempt_that_cannot_be_made_is_told() {
    let observer = Seen::new();
    let layer = exact().observer(observer.clone()).build().unwrap();
    let stack = layer.layer(OnceReady(Arc::default()));
    stack.oneshot(Call::read_only("t")).await.unwrap_err();
    assert_eq!(
        observer.lines(),
        [
            "0 retry_scheduled t#1 unavailable 1s",
            "1000 gave_up t#1 unavailable not_ready",
        ]
    );
}

#[tokio::test(start_paused = true)]
async fn a_call_that_meets_its_deadline_is_told_with_the_setting() {
    let observer = Seen::new();
    let retry = exact().deadline(5 * SECOND).observer(observer.clone());
    let tool = Script::timed([
        (Duration::ZERO, Err(away().into())),
        (60 * SECOND, Ok(Answer::ok("late"))),
    ]);
    let stack = retry.build().unwrap().layer(tool);
    stack.oneshot(Call::read_only("t")).await.unwrap_err();
    assert_eq!(
        observer.lines(),
        [
            "0 retry_scheduled t#1 unavailable 1s",
            "5000 limit_reached t#2 deadline 5s",
            "5000 gave_up t#2 timeout deadline",
        ]
    );
}

#[tokio::test(start_paused = true)]
async fn success_and_failures_that_no_wait_helps_are_no_events() {
    for failure in [Failure::not_found("no such book"), Failure::fatal("dead")] {
        let failure = move || Failure::new(failure.class(), "as told");
        let nothing: [String; 0] = [];
        assert_eq!(seen(exact(), Call::read_only("t"), failure).await, nothing);
    }
    let observer = Seen::new();
    let layer = exact().observer(observer.clone()).build().unwrap();
    let tool = Script::new([Ok(Answer::ok("fine"))]);
    layer.layer(tool).oneshot(Call::tool("t")).await.unwrap();
    assert_eq!(observer.lines(), [""; 0]);
}

#[tokio::test(start_paused = true)]
async fn a_closure_sees_the_method_and_the_failure_itself() {
    let seen = Arc::<Mutex<Vec<String>>>::default();
    let lines = Arc::clone(&seen);
    let retry = exact().max_attempts(2).observer(move |event: &Event<'_>| {
        let (call, failure) = (event.call().unwrap(), event.failure().unwrap());
        assert_eq!(call.method(), Method::ReadResource);
        lines.lock().unwrap().push(failure.chain().to_string());
    });
    let failure = Failure::new(Class::Connection, "reset").because("broken pipe");
    let tool = Script::new([
        Err(failure.into()),
        Err::<Answer, BoxError>(Failure::connection("refused").into()),
    ]);
    let stack = retry.repeat_ok(|_| Some(true)).build().unwrap().layer(tool);
    let call = Call {
        hints: Call::read_only("").hints,
        ..Call::resource("book://dune")
    };
    stack.oneshot(call).await.unwrap_err();
    assert_eq!(*seen.lock().unwrap(), ["reset: broken pipe", "refused"]);
}
