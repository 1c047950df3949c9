//! Which limit a call reached, and its setting.

use super::{SECOND, exact};
use crate::{
    support::{Answer, Call, Seen},
    timeout::{MINUTE, Slow, reports},
};
use mcp_resilience::{
    ResilienceLayer,
    call_log::CallLogLayer,
    timeout::{TimeoutBuilder, TimeoutLayer},
};
use std::{future::pending, time::Duration};
use tower::{
    BoxError, Layer, ServiceBuilder, ServiceExt, limit::ConcurrencyLimitLayer, service_fn,
};

fn timeout(seen: &Seen) -> TimeoutBuilder {
    TimeoutLayer::builder(30 * SECOND).observer(seen.clone())
}

/// Calls a tool that reports this many times, every 20 s, and then hangs.
async fn hang<L>(layer: L, times: u32)
where
    L: Layer<tower::util::BoxCloneService<Slow, Answer, BoxError>>,
    L::Service: tower::Service<Slow, Response = Answer>,
{
    let tool = service_fn(move |call: Slow| async move {
        Ok::<_, BoxError>(reports(call.progress.ticker(), times, 20 * SECOND, Duration::MAX).await)
    });
    let tool = tower::util::BoxCloneService::new(tool);
    assert!(layer.layer(tool).oneshot(Slow::default()).await.is_err());
}

#[tokio::test(start_paused = true)]
async fn an_attempt_without_progress_is_told_at_its_limit() {
    let seen = Seen::new();
    hang(timeout(&seen).build().unwrap(), 2).await;
    let expected = ["70000 limit_reached print_catalog attempt_timeout 30s"];
    assert_eq!(seen.lines(), expected);
}

#[tokio::test(start_paused = true)]
async fn an_attempt_with_progress_is_told_at_the_ceiling() {
    let seen = Seen::new();
    hang(timeout(&seen).ceiling(MINUTE).build().unwrap(), 99).await;
    let expected = ["60000 limit_reached print_catalog ceiling 60s"];
    assert_eq!(seen.lines(), expected);
}

#[tokio::test(start_paused = true)]
async fn a_limit_is_told_once_by_all_the_layers_that_have_an_observer() {
    let seen = Seen::new();
    let retry = exact().max_attempts(2).observer(seen.clone());
    let layers = ServiceBuilder::new()
        .layer(retry.build().unwrap())
        .layer(timeout(&seen).build().unwrap());
    hang(layers, 0).await;
    assert_eq!(
        seen.lines(),
        [
            "30000 limit_reached print_catalog attempt_timeout 30s",
            // Another 30 s would not fit into the window.
            "30000 gave_up print_catalog#1 timeout window",
        ]
    );
}

#[tokio::test(start_paused = true)]
async fn the_preset_tells_of_the_limit_of_an_attempt_and_of_readiness() {
    let seen = Seen::new();
    let preset = ResilienceLayer::builder()
        .log(CallLogLayer::off())
        .retry(exact().max_attempts(2).build().unwrap())
        .attempt_timeout(20 * SECOND)
        .ready_timeout(5 * SECOND)
        .layer_inside(ConcurrencyLimitLayer::new(1))
        .observer(seen.clone())
        .build()
        .unwrap();
    let stack = preset.layer(service_fn(|_: Call| async {
        pending::<Result<Answer, BoxError>>().await
    }));
    let hung = tokio::spawn(stack.clone().oneshot(Call::tool("hangs")));
    tokio::task::yield_now().await;
    assert!(stack.oneshot(Call::tool("waits")).await.unwrap().is_error);
    assert!(hung.await.unwrap().unwrap().is_error);
    assert_eq!(
        seen.lines(),
        [
            "5000 limit_reached waits#1 ready_timeout 5s",
            "5000 retry_scheduled waits#1 timeout 1s",
            "11000 limit_reached waits#2 ready_timeout 5s",
            "11000 gave_up waits#2 timeout attempts",
            "20000 limit_reached hangs#1 attempt_timeout 20s",
            "20000 gave_up hangs#1 timeout may_have_run",
        ]
    );
}
