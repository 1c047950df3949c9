//! A session that the server forgot, and a failure that another one hides.

use crate::{
    retry::{SECOND, always, exact, fine, make},
    support::{Answer, Call, Script},
};
use mcp_resilience::{Class, Failure, failure::Stopped, retry::RetryLayer};
use std::{error::Error, time::Duration};
use tokio::time::Instant;
use tower::{BoxError, Layer, ServiceExt};

fn gone() -> Result<Answer, BoxError> {
    Err(Failure::session_lost("Session not found").into())
}

#[tokio::test(start_paused = true)]
async fn a_call_whose_session_was_lost_is_repeated_once_and_at_once() {
    let begun = Instant::now();
    let tool = Script::new([gone(), Ok(fine())]);
    make(exact(), &tool, Call::tool("reserve")).await.unwrap();
    assert_eq!(begun.elapsed(), Duration::ZERO);
    assert_eq!(tool.calls().len(), 2);

    let failure = make(exact(), &always(gone), Call::tool("reserve"))
        .await
        .unwrap_err();
    assert_eq!(failure.class(), Class::SessionLost);
    assert_eq!(failure.stopped(), Some(Stopped::Attempts));
    assert_eq!(failure.attempts(), 2, "no server is to lose every session");
    assert_eq!(failure.waits(), [Duration::ZERO]);
}

#[tokio::test(start_paused = true)]
async fn a_lost_session_that_comes_with_a_wait_is_not_repeated_earlier() {
    let begun = Instant::now();
    let asked = Failure::session_lost("Session not found").with_retry_after(3 * SECOND);
    let tool = Script::new([Err(asked.into()), Ok(fine())]);
    make(exact(), &tool, Call::tool("reserve")).await.unwrap();
    assert!(begun.elapsed() >= 3 * SECOND);
}

#[tokio::test(start_paused = true)]
async fn a_restart_that_a_hundred_calls_see_is_none_of_the_budgets_business() {
    let retry = RetryLayer::builder().budget(0.2, 0).build().unwrap();
    for _ in 0..100 {
        let tool = Script::new([gone(), Ok(fine())]);
        retry
            .layer(tool)
            .oneshot(Call::tool("reserve"))
            .await
            .unwrap();
    }
    let busy = always(|| Err(Failure::rate_limited(None).into()));
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
    let cause = failure.source().expect("there was one before");
    assert_eq!(cause.to_string(), "connection refused");
}
