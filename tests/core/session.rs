//! Lost sessions, and failures inside other failures.

use crate::{
    retry::{SECOND, always, exact, fine, make},
    support::{Answer, Call, Script},
};
use mcp_resilience::{
    Class, Failure,
    backoff::Jitter,
    failure::Stopped,
    reconnect::ReconnectLayer,
    retry::{RetryBuilder, RetryLayer},
};
use std::{error::Error, time::Duration};
use tokio::time::Instant;
use tower::{BoxError, Layer, ServiceExt, service_fn};

fn gone() -> Result<Answer, BoxError> {
    Err(Failure::session_lost("Session not found")
        .before_running()
        .into())
}

/// A call on connections that each make the next step; the first has answered twice before.
async fn reconnecting(steps: Vec<Result<Answer, BoxError>>) -> (Result<Answer, Failure>, Duration) {
    reconnecting_with(exact(), steps).await
}

async fn reconnecting_with(
    retry: RetryBuilder,
    steps: Vec<Result<Answer, BoxError>>,
) -> (Result<Answer, Failure>, Duration) {
    let tool = Script::new([Ok(fine()), Ok(fine())].into_iter().chain(steps));
    let connector = service_fn(move |(): ()| {
        let tool = tool.clone();
        async move { Ok::<_, Failure>(tool) }
    });
    let connection = ReconnectLayer::builder(()).jitter(Jitter::none());
    let tools = retry
        .build()
        .unwrap()
        .layer(connection.build().unwrap().layer(connector));
    for _ in 0..2 {
        let answer = tools.clone().oneshot(Call::read_only("get_book"));
        answer.await.unwrap();
    }
    let begun = Instant::now();
    let answer = tools.oneshot(Call::read_only("get_book")).await;
    (answer, begun.elapsed())
}

fn lost() -> Result<Answer, BoxError> {
    Err(Failure::connection("reset by peer").into())
}

#[tokio::test(start_paused = true)]
async fn a_call_lost_with_a_good_connection_is_repeated_at_once_and_the_next_with_a_wait() {
    let (answer, took) = reconnecting(vec![lost(), Ok(fine())]).await;
    answer.unwrap();
    assert_eq!(took, Duration::ZERO);
    // A session that was young has been none to rely on: the dial waits, and not the call as well.
    let (answer, took) = reconnecting(vec![gone(), Ok(fine())]).await;
    answer.unwrap();
    assert_eq!(took, SECOND);
    // The second connection never answered: the second wait is 2 s, and the dial's 1 s within that.
    let (answer, took) = reconnecting(vec![lost(), lost(), Ok(fine())]).await;
    answer.unwrap();
    assert_eq!(took, 2 * SECOND);
    let late = || Err(Failure::timeout("no answer").into());
    let (answer, took) = reconnecting(vec![late(), Ok(fine())]).await;
    answer.unwrap();
    assert_eq!(took, SECOND, "a server that is late is given time");
}

#[tokio::test(start_paused = true)]
async fn the_end_of_a_good_connection_costs_no_budget() {
    let poor = || exact().budget(0.2, 0);
    let (answer, _) = reconnecting_with(poor(), vec![lost(), Ok(fine())]).await;
    answer.unwrap();
    let (answer, _) = reconnecting_with(poor(), vec![lost(), lost(), Ok(fine())]).await;
    assert_eq!(
        answer.unwrap_err().stopped(),
        Some(Stopped::Budget),
        "the second was not good"
    );
}

#[tokio::test(start_paused = true)]
async fn a_call_whose_session_was_lost_is_repeated_once() {
    let tool = Script::new([gone(), Ok(fine())]);
    make(exact(), &tool, Call::tool("reserve")).await.unwrap();
    assert_eq!(tool.calls().len(), 2);

    let failure = make(exact(), &always(gone), Call::tool("reserve"))
        .await
        .unwrap_err();
    assert_eq!(failure.class(), Class::SessionLost);
    assert_eq!(failure.stopped(), Some(Stopped::Attempts));
    assert_eq!(failure.attempts(), 2, "no server is to lose every session");
}

#[tokio::test(start_paused = true)]
async fn a_lost_session_that_comes_with_a_wait_is_not_repeated_earlier() {
    let begun = Instant::now();
    let asked = Failure::session_lost("Session not found")
        .before_running()
        .with_retry_after(3 * SECOND);
    let tool = Script::new([Err(asked.into()), Ok(fine())]);
    make(exact(), &tool, Call::tool("reserve")).await.unwrap();
    assert!(begun.elapsed() >= 3 * SECOND);
}

#[tokio::test(start_paused = true)]
async fn a_restart_that_a_hundred_calls_see_costs_no_budget() {
    let retry = RetryLayer::builder().budget(0.2, 0).build().unwrap();
    for _ in 0..100 {
        let tool = Script::new([gone(), Ok(fine())]);
        retry
            .layer(tool)
            .oneshot(Call::tool("reserve"))
            .await
            .unwrap();
    }
    let busy = always(|| Err(Failure::rate_limited(None).before_running().into()));
    let failure = retry
        .layer(busy)
        .oneshot(Call::tool("reserve"))
        .await
        .unwrap_err();
    assert_eq!(
        failure.stopped(),
        Some(Stopped::Attempts),
        "and pays nothing out of it"
    );
}

#[tokio::test(start_paused = true)]
async fn a_call_that_the_deadline_ends_says_what_failed_the_attempt_before() {
    let steps = [
        (
            SECOND,
            Err(Failure::connection("connection refused").into()),
        ),
        (100 * SECOND, Ok(fine())),
    ];
    let call = Call::read_only("get_book");
    let failure = make(exact().deadline(5 * SECOND), &Script::timed(steps), call).await;
    let failure = failure.unwrap_err();
    assert_eq!(failure.class(), Class::Timeout);
    let limit = failure.source().expect("the limit is the cause");
    let cause = limit.source().expect("there was one before");
    assert_eq!(cause.to_string(), "connection refused");
}
