//! Limits of tower in the preset.

use crate::support::{Answer, Call, Lines, Script};
use mcp_resilience::{ResilienceLayer, call_log::CallLogLayer, retry::RetryLayer};
use std::time::Duration;
use tower::{
    Layer, ServiceExt,
    limit::{ConcurrencyLimitLayer, GlobalConcurrencyLimitLayer},
    load_shed::LoadShedLayer,
    service_fn,
};

const SECOND: Duration = Duration::from_secs(1);

fn slow(calls: usize) -> Script {
    Script::timed((0..calls).map(|_| (SECOND * 5, Ok(Answer::ok("done")))))
}

#[tokio::test(start_paused = true)]
async fn a_concurrency_limit_lets_the_next_call_wait_for_its_turn() {
    let tool = slow(3);
    let resilience = ResilienceLayer::builder()
        .log(CallLogLayer::off())
        .layer_inside(ConcurrencyLimitLayer::new(1))
        .build()
        .unwrap();
    let tools = resilience.layer(tool.clone());

    let call = || tools.clone().oneshot(Call::tool("print"));
    let (one, two, three) = tokio::join!(call(), call(), call());

    for answer in [one, two, three] {
        assert_eq!(answer.unwrap().text(), "done");
    }
    assert_eq!(tool.calls(), [Duration::ZERO, SECOND * 5, SECOND * 10]);
}

#[tokio::test(start_paused = true)]
async fn a_concurrency_limit_is_not_held_while_a_call_waits_for_its_next_attempt() {
    let refused = mcp_resilience::Failure::unavailable(Some(SECOND * 20)).before_running();
    let tool = Script::new([
        Err(refused.into()),
        Ok(Answer::ok("second")),
        Ok(Answer::ok("first")),
    ]);
    let resilience = ResilienceLayer::builder()
        .log(CallLogLayer::off())
        .layer_inside(ConcurrencyLimitLayer::new(1))
        .build()
        .unwrap();
    let tools = resilience.layer(tool.clone());

    let call = || tools.clone().oneshot(Call::tool("print"));
    let (first, second) = tokio::join!(call(), call());

    assert_eq!(first.unwrap().text(), "first");
    assert_eq!(second.unwrap().text(), "second");
    assert_eq!(
        tool.calls()[1],
        Duration::ZERO,
        "it did not wait for the first"
    );
}

#[tokio::test(start_paused = true)]
async fn a_shed_call_is_at_capacity_was_refused_and_is_made_again() {
    let lines = Lines::default();
    let tool = slow(2);
    let resilience = ResilienceLayer::builder()
        .log(CallLogLayer::new(lines.clone()))
        .retry(RetryLayer::builder().max_attempts(10).build().unwrap())
        .layer_inside(LoadShedLayer::new())
        .layer_inside(GlobalConcurrencyLimitLayer::new(1))
        .build()
        .unwrap();
    let tools = resilience.layer(tool.clone());

    let call = || tools.clone().oneshot(Call::tool("print"));
    let (one, two) = tokio::join!(call(), call());

    assert_eq!(one.unwrap().text(), "done");
    assert_eq!(two.unwrap().text(), "done");
    assert_eq!(tool.calls().len(), 2, "no call ran that was shed");
    let lines = lines.all();
    assert!(lines.iter().any(|line| line["attempts"] != 1), "{lines:?}");
}

#[tokio::test(start_paused = true)]
async fn a_call_that_is_shed_for_good_says_that_it_did_not_run() {
    let lines = Lines::default();
    let resilience = ResilienceLayer::builder()
        .log(CallLogLayer::new(lines.clone()))
        .retry(RetryLayer::builder().max_attempts(1).build().unwrap())
        .layer_inside(LoadShedLayer::new())
        .layer_inside(ConcurrencyLimitLayer::new(0))
        .build()
        .unwrap();
    let answer = resilience.layer(slow(0)).oneshot(Call::tool("print")).await;

    assert!(answer.unwrap().is_error);
    let line = lines.only();
    assert_eq!(line["class"], "at_capacity", "{line}");
    assert_eq!(line["delivery"], "refused", "{line}");
}

/// It has no `Clone`, which an attempt needs: a buffer in front of it has.
#[tokio::test(start_paused = true)]
async fn a_rate_limit_behind_a_buffer_spaces_the_calls() {
    let tool = Script::new((0..3).map(|_| Ok(Answer::ok("done"))));
    let inside = tower::ServiceBuilder::new()
        .buffer::<Call>(8)
        .rate_limit(1, SECOND * 10)
        .into_inner();
    let resilience = ResilienceLayer::builder()
        .log(CallLogLayer::off())
        .layer_inside(inside)
        .build()
        .unwrap();
    let tools = resilience.layer(tool.clone());

    let call = || tools.clone().oneshot(Call::tool("print"));
    let (one, two, three) = tokio::join!(call(), call(), call());

    for answer in [one, two, three] {
        assert_eq!(answer.unwrap().text(), "done");
    }
    let calls = tool.calls();
    assert!(calls[1] >= calls[0] + SECOND * 10, "{calls:?}");
    assert!(calls[2] >= calls[1] + SECOND * 10, "{calls:?}");
}

#[tokio::test(start_paused = true)]
async fn a_limit_inside_a_plain_service_function_is_ready_again_after_a_panic() {
    let resilience = ResilienceLayer::builder()
        .log(CallLogLayer::off())
        .layer_inside(ConcurrencyLimitLayer::new(1))
        .build()
        .unwrap();
    let tools = resilience.layer(service_fn(async |call: Call| {
        assert_ne!(call.name, "panic", "it panics");
        Ok::<_, tower::BoxError>(Answer::ok("done"))
    }));

    assert!(
        tools
            .clone()
            .oneshot(Call::tool("panic"))
            .await
            .unwrap()
            .is_error
    );
    let answer = tools.oneshot(Call::tool("print")).await.unwrap();
    assert_eq!(answer.text(), "done", "the panic gave its place back");
}
