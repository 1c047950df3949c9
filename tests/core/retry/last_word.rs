//! `override_verdict`.

use super::{SECOND, exact, fine};
use crate::support::{Call, Script};
use mcp_resilience::{
    Class, Delivery, Failure,
    failure::Stopped,
    retry::{Override, RetryBuilder, Verdict},
};
use std::sync::{Arc, Mutex};
use tower::{Layer, ServiceExt};

/// How often the tool ran, and why it was given up, if it was.
async fn runs(
    retry: RetryBuilder,
    call: Call,
    failure: impl Fn() -> Failure,
) -> (usize, Result<(), Option<Stopped>>) {
    let tool = Script::new([Err(failure().into()), Err(failure().into()), Ok(fine())]);
    let answer = retry
        .build()
        .unwrap()
        .layer(tool.clone())
        .oneshot(call)
        .await;
    let outcome = answer.map(drop).map_err(|failure| failure.stopped());
    (tool.calls().len(), outcome)
}

fn forced() -> RetryBuilder {
    exact().override_verdict(|_, _, _| Override::RepeatTool("reserve"))
}

fn ran() -> Failure {
    Failure::upstream("the shop answered 502")
}

#[tokio::test(start_paused = true)]
async fn any_repeat_can_be_stopped() {
    let stop = || exact().override_verdict(|_, _, _| Override::Stop);
    let busy = || Failure::rate_limited(None).before_running();
    let overridden = (1, Err(Some(Stopped::Overridden)));
    assert_eq!(runs(stop(), Call::tool("reserve"), busy).await, overridden);
    assert_eq!(runs(stop(), Call::read_only("t"), ran).await, overridden);
    assert_eq!(runs(stop(), Call::resource("uri"), busy).await, overridden);
    // Another reason stays: the model has to know that it may have run.
    let may_have_run = (1, Err(Some(Stopped::MayHaveRun)));
    assert_eq!(runs(stop(), Call::tool("reserve"), ran).await, may_have_run);
    let missing = || Failure::not_found("no such book");
    assert_eq!(runs(stop(), Call::tool("t"), missing).await, (1, Err(None)));
}

#[tokio::test(start_paused = true)]
async fn a_repeat_is_forced_for_the_named_tool_alone() {
    let may_have_run = (1, Err(Some(Stopped::MayHaveRun)));
    assert_eq!(
        runs(exact(), Call::tool("reserve"), ran).await,
        may_have_run
    );
    assert_eq!(
        runs(forced(), Call::tool("reserve"), ran).await,
        (3, Ok(()))
    );
    assert_eq!(runs(forced(), Call::tool("pay"), ran).await, may_have_run);
    let resource = Call::resource("reserve");
    assert_eq!(runs(forced(), resource, ran).await, may_have_run);
    let prompt = Call::prompt("reserve");
    assert_eq!(runs(forced(), prompt, ran).await, may_have_run);
}

#[tokio::test(start_paused = true)]
async fn the_override_wins_over_all_other_settings() {
    let never = forced().repeat_ok(|_| Some(false)).distrust_server();
    assert_eq!(runs(never, Call::tool("reserve"), ran).await, (3, Ok(())));
}

#[tokio::test(start_paused = true)]
async fn a_repeat_cannot_be_forced_if_waiting_does_not_help() {
    use Class::*;
    let classes = [
        InvalidInput,
        Blocked,
        NotFound,
        Unauthorized,
        Forbidden,
        Disabled,
        Tool,
        InvalidOutput,
        Protocol,
        Crash,
        Cancelled,
        Fatal,
    ];
    for class in classes {
        for delivery in [
            Delivery::NotSent,
            Delivery::Refused,
            Delivery::Unknown,
            Delivery::Executed,
        ] {
            let failure = || Failure::new(class, "as told").with_delivery(delivery);
            let (runs, _) = runs(forced(), Call::tool("reserve"), failure).await;
            assert_eq!(runs, 1, "{class}, {delivery}");
        }
    }
    let refused_for_good = || ran().with_retryable(false);
    let (times, _) = runs(forced(), Call::tool("reserve"), refused_for_good).await;
    assert_eq!(times, 1, "retryable: false");
    // Given up by a layer within.
    let inner = exact().max_attempts(1).build().unwrap();
    let outer = forced().build().unwrap();
    let tool = Script::new([Err(ran().into())]);
    let stack = outer.layer(inner.layer(tool.clone()));
    stack.oneshot(Call::tool("reserve")).await.unwrap_err();
    assert_eq!(tool.calls().len(), 1, "given up before");
}

#[tokio::test(start_paused = true)]
async fn a_forced_repeat_waits_as_long_as_the_server_asked() {
    let tool = Script::new([
        Err(ran().with_retry_after(7 * SECOND).into()),
        Err(ran().into()),
        Ok(fine()),
    ]);
    let stack = forced().build().unwrap().layer(tool.clone());
    stack.oneshot(Call::tool("reserve")).await.unwrap();
    assert!(tool.calls()[1] >= 7 * SECOND);
}

#[tokio::test(start_paused = true)]
async fn attempts_window_and_budget_hold_for_a_forced_repeat() {
    let cases = [
        (forced().max_attempts(2), 2, Stopped::MayHaveRun),
        (forced().retry_window(SECOND / 2), 1, Stopped::Window),
        (forced().budget(0.0, 0), 1, Stopped::Budget),
        (forced().max_retry_after(SECOND), 1, Stopped::HintTooLong),
    ];
    for (retry, times, stopped) in cases {
        let failure = || match stopped {
            Stopped::HintTooLong => ran().with_retry_after(2 * SECOND),
            _ => ran(),
        };
        let seen = runs(retry, Call::tool("reserve"), failure).await;
        assert_eq!(seen, (times, Err(Some(stopped))));
    }
}

#[tokio::test(start_paused = true)]
async fn the_override_sees_the_call_the_failure_and_the_verdict_while_an_attempt_is_left() {
    let seen = Arc::<Mutex<Vec<_>>>::default();
    let verdicts = Arc::clone(&seen);
    let retry = exact().override_verdict(move |call, failure, verdict| {
        let line = (call.name().to_owned(), failure.class(), verdict);
        verdicts.lock().unwrap().push(line);
        Override::Keep
    });
    let away = || Failure::unavailable(None);
    let tool = || Script::new([Err(away().into()), Err(away().into()), Err(away().into())]);
    let layer = retry.build().unwrap();
    layer
        .layer(tool())
        .oneshot(Call::read_only("read"))
        .await
        .unwrap_err();
    layer
        .layer(tool())
        .oneshot(Call::tool("write"))
        .await
        .unwrap_err();
    let line = |name: &str, verdict| (name.to_owned(), Class::Unavailable, verdict);
    assert_eq!(
        *seen.lock().unwrap(),
        [
            line("read", Verdict::Repeat),
            line("read", Verdict::Repeat),
            line("write", Verdict::MayHaveRun),
        ]
    );
}
