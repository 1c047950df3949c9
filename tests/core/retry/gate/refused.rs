//! Calls that the gate refuses because the wait is too long.

use super::{Callers, NOW, Server, gated, poll_once, through};
use crate::{
    retry::{HOUR, MS, SECOND, exact},
    support::{Call, Strict},
};
use mcp_resilience::{
    Class, Delivery, failure::Stopped, policy::Policy, retry::RetryAfterGate, retry::RetryBuilder,
};
use tokio::time::{Instant, sleep};
use tower::{Layer, ServiceExt};

/// Calls that wait for as long as the server asks, but for 10 s at most if they are hasty.
fn patient_and_hasty() -> (RetryBuilder, RetryBuilder) {
    let retry = gated().max_attempts(1);
    let retry = retry.policy(Policy::new().no_retry_window());
    (
        retry.clone().max_retry_after(HOUR),
        retry.max_retry_after(10 * SECOND),
    )
}

/// Asks to wait 5 s, and before that is over, 3,000 s.
fn asking_twice() -> Server {
    Server::asking([(MS, 5 * SECOND), (3 * SECOND, 3000 * SECOND)])
}

#[tokio::test(start_paused = true)]
async fn a_further_hint_beyond_the_longest_wait_of_a_waiting_call_fails_it_at_once() {
    let server = asking_twice();
    let begun = Instant::now();
    let (patient, hasty) = patient_and_hasty();
    let (patient, hasty) = (through(patient, &server), through(hasty, &server));
    let running = [patient.call(NOW, "search"), patient.call(NOW, "search")];
    let (hasty, patient) = (hasty.call(SECOND, "search"), patient.call(SECOND, "search"));
    let failure = hasty.await.unwrap().unwrap_err();
    assert_eq!(begun.elapsed(), 3 * SECOND, "at the time of the hint");
    assert_eq!(failure.class(), Class::RateLimited);
    assert_eq!(failure.delivery(), Delivery::NotSent);
    assert_eq!(failure.stopped(), Some(Stopped::HintTooLong));
    for call in running {
        call.await.unwrap().unwrap_err();
    }
    patient.await.unwrap().unwrap();
    assert_eq!(server.times(), [0, 0, 3_003_000]);
}

#[tokio::test(start_paused = true)]
async fn a_refused_call_that_is_polled_late_is_not_sent_either() {
    let server = asking_twice();
    let (patient, hasty) = patient_and_hasty();
    let (patient, hasty) = (through(patient, &server), through(hasty, &server));
    let running = [patient.call(NOW, "search"), patient.call(NOW, "search")];
    sleep(SECOND).await;
    let mut stalled = Box::pin(hasty.0.clone().oneshot(Call::tool("search")));
    assert!(poll_once(&mut stalled).await.is_none());
    for call in running {
        call.await.unwrap().unwrap_err();
    }
    // The gate has forgotten the target by then.
    patient
        .call(4000 * SECOND, "search")
        .await
        .unwrap()
        .unwrap();
    let failure = stalled.await.unwrap_err();
    assert_eq!(failure.delivery(), Delivery::NotSent);
    assert_eq!(failure.stopped(), Some(Stopped::HintTooLong));
    assert_eq!(server.times(), [0, 0, 4_003_000]);
}

#[tokio::test(start_paused = true)]
async fn a_failure_that_the_gate_made_is_no_hint_for_an_outer_layer_with_the_same_gate() {
    let server = Server::asking([(NOW, 5 * SECOND)]);
    let gate = RetryAfterGate::per_tool().pace(2 * SECOND);
    let retry = exact().max_attempts(1).retry_after_gate(gate);
    let inner = retry.clone().retry_window(SECOND).build().unwrap();
    let outer = retry.clone().build().unwrap();
    let nested = Callers(outer.layer(inner.layer(Strict::new(server.clone()))));
    let single = through(retry.max_retry_after(SECOND), &server);
    nested.call(NOW, "search").await.unwrap().unwrap_err();
    // It leaves the gate of the outer layer after 5 s, and would leave that of the inner one after 7 s.
    let failure = nested.call(NOW, "search").await.unwrap().unwrap_err();
    assert_eq!(failure.stopped(), Some(Stopped::Window));
    assert_eq!(failure.retry_after(), Some(2 * SECOND));
    // The server asks for no wait any more.
    single.call(NOW, "search").await.unwrap().unwrap();
    assert_eq!(server.times(), [0, 7000]);
}
