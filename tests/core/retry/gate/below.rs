//! Calls that have passed the gate and wait for a permit of the service when a hint comes.

use super::{Callers, Server, through};
use crate::{
    retry::{SECOND, exact},
    support::{Answer, Call, Lines, Strict},
};
use mcp_resilience::{
    ResilienceLayer, call_log::CallLogLayer, policy::Policy, retry::RetryAfterGate,
};
use std::time::Duration;
use tokio::time::{Instant, sleep};
use tower::{Layer, Service, ServiceExt, limit::GlobalConcurrencyLimitLayer};

/// The only place is taken for 2 s by a call that is refused then, with a wait of 5 s. The end of a
/// call that came 1 s earlier.
async fn after_a_refusal(policy: Policy) -> (Duration, Answer, Server, Lines) {
    let server = Server::asking([(2 * SECOND, 5 * SECOND)]);
    let lines = Lines::default();
    let preset = ResilienceLayer::builder()
        .retry_after_gate(RetryAfterGate::per_server())
        .policy(policy.max_attempts(1))
        .log(CallLogLayer::new(lines.clone()))
        .build()
        .unwrap();
    let limited = GlobalConcurrencyLimitLayer::new(1).layer(Strict::new(server.clone()));
    let service = preset.layer(limited);
    let first = tokio::spawn(service.clone().oneshot(Call::tool("search")));
    sleep(SECOND).await;
    let begun = Instant::now();
    let answer = service.oneshot(Call::tool("search")).await.unwrap();
    assert!(first.await.unwrap().unwrap().is_error);
    (begun.elapsed(), answer, server, lines)
}

#[tokio::test(start_paused = true)]
async fn a_call_that_waits_for_a_permit_obeys_a_hint_and_gives_up_its_place() {
    let (took, answer, server, lines) = after_a_refusal(Policy::new()).await;
    assert!(!answer.is_error);
    assert_eq!(took, 6 * SECOND);
    assert_eq!(server.times(), [0, 7000]);
    let line = &lines.all()[1];
    assert_eq!(line["latency_ms"], 6000);
    assert_eq!(line["held_ms"], 5000);
    assert_eq!(line["waited_ms"], 5000);
}

#[tokio::test(start_paused = true)]
async fn a_call_that_waits_for_a_permit_fails_at_once_if_the_wait_does_not_fit() {
    let policy = Policy::new().retry_window(4 * SECOND);
    let (took, answer, server, lines) = after_a_refusal(policy).await;
    assert!(answer.is_error);
    assert_eq!(took, SECOND);
    assert_eq!(server.times(), [0]);
    let line = &lines.all()[1];
    assert_eq!(line["class"], "rate_limited");
    assert_eq!(line["delivery"], "not_sent");
    assert_eq!(line["retry_after_ms"], 5000);
    assert_eq!(line["retry_stopped"], "window");
}

#[tokio::test(start_paused = true)]
async fn the_limits_of_a_call_count_from_the_first_time_that_it_is_waited_for() {
    let server = Server::asking([(SECOND, SECOND)]);
    let retry = exact().retry_after_gate(RetryAfterGate::per_tool());
    let Callers(mut service) = through(retry.retry_window(3 * SECOND), &server);
    let call = service.ready().await.unwrap().call(Call::tool("search"));
    sleep(10 * SECOND).await;
    call.await.unwrap();
    assert_eq!(server.times(), [0, 12_000]);
}
