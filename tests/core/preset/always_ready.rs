//! Waiting for the inner service, and its refusals, as a part of the call.

use crate::{
    contract::Unready,
    support::{Answer, Call, Lines, Script, Strict},
};
use mcp_resilience::{
    Class, ResilienceLayer,
    always_ready::AlwaysReadyLayer,
    call_log::CallLogLayer,
    retry::{RetryBuilder, RetryLayer},
};
use std::time::Duration;
use tokio::time::{Instant, timeout};
use tower::{Layer, Service, ServiceExt, limit::ConcurrencyLimit};

const SECOND: Duration = Duration::from_secs(1);

fn preset(lines: &Lines, retry: RetryBuilder) -> ResilienceLayer {
    ResilienceLayer::builder()
        .log(CallLogLayer::new(lines.clone()))
        .retry(retry.build().unwrap())
        .build()
        .unwrap()
}

#[tokio::test(start_paused = true)]
async fn a_call_that_finds_no_place_waits_for_one_inside_the_call_and_leaves_one_line() {
    let lines = Lines::default();
    let slow = (3 * SECOND, Ok(Answer::ok("first")));
    let tool = Script::timed([slow, (SECOND, Ok(Answer::ok("second")))]);
    let limited = ConcurrencyLimit::new(Strict::new(tool.clone()), 1);
    let mut stack = preset(&lines, RetryLayer::builder()).layer(limited);

    let first = stack.ready().await.unwrap().call(Call::tool("first"));
    let first = tokio::spawn(first);
    let begun = Instant::now();
    let ready = timeout(Duration::ZERO, stack.ready());
    let second = ready.await.expect("ready all the same").unwrap();
    let second = second.call(Call::tool("second")).await.unwrap();

    assert_eq!(second, Answer::ok("second"));
    assert_eq!(begun.elapsed(), 4 * SECOND);
    assert_eq!(tool.calls(), [Duration::ZERO, 3 * SECOND]);
    assert!(first.await.unwrap().is_ok());
    let lines = lines.all();
    assert_eq!(lines.len(), 2, "{lines:#?}");
    assert_eq!(lines[1]["tool"], "second");
    assert_eq!(lines[1]["outcome"], "success");
    assert_eq!(lines[1]["latency_ms"], 4000, "the wait is part of it");
    assert_eq!(lines[1]["attempts"], 1);
}

#[tokio::test(start_paused = true)]
async fn the_deadline_covers_the_wait_for_the_first_readiness() {
    let lines = Lines::default();
    let tool = Script::new([]);
    let limited = ConcurrencyLimit::new(tool.clone(), 1);
    let mut holder = limited.clone();
    holder.ready().await.unwrap();
    let stack = preset(&lines, RetryLayer::builder().deadline(5 * SECOND)).layer(limited);

    let begun = Instant::now();
    let answer = stack.oneshot(Call::read_only("get_book")).await.unwrap();

    assert_eq!(begun.elapsed(), 5 * SECOND);
    assert!(answer.is_error);
    assert!(tool.calls().is_empty());
    let line = lines.only();
    assert_eq!(line["class"], "timeout");
    assert_eq!(line["retry_stopped"], "deadline");
    assert_eq!(line["latency_ms"], 5000);
}

#[tokio::test(start_paused = true)]
async fn an_error_of_readiness_reaches_the_call_and_its_line() {
    let mut bare = AlwaysReadyLayer::new().layer(Unready(Class::Disabled));
    for _ in 0..2 {
        let ready = bare.ready().await.expect("always ready");
        let failure = ready.call(Call::tool("t")).await.unwrap_err();
        assert_eq!(failure.to_string(), "not ready");
    }

    let lines = Lines::default();
    let mut stack = preset(&lines, RetryLayer::builder()).layer(Unready(Class::Disabled));
    let ready = stack.ready().await.expect("always ready");
    let answer = ready.call(Call::tool("t")).await.unwrap();
    assert!(answer.is_error);
    assert_eq!(
        answer.text(),
        "Error executing tool t: not ready. Only the operator of the server can change that."
    );
    let line = lines.only();
    assert_eq!(line["class"], "disabled");
    assert_eq!(line["delivery"], "not_sent");
    assert_eq!(line["outcome"], "failed");
}

#[tokio::test(start_paused = true)]
async fn a_fatal_error_of_readiness_shuts_the_stack_by_the_call_that_met_it() {
    let lines = Lines::default();
    let preset = preset(&lines, RetryLayer::builder());
    let mut stack = preset.layer(Unready(Class::Fatal));
    stack.ready().await.expect("always ready");
    assert!(preset.fatal_handle().cause().is_none(), "nobody called yet");

    let failure = stack.call(Call::tool("t")).await.unwrap_err();

    assert_eq!(failure.class(), Class::Fatal);
    let cause = preset.fatal_handle().cause().unwrap();
    assert_eq!(cause.to_string(), "not ready");
    assert_eq!(lines.only()["level"], "ERROR");
}

#[tokio::test(start_paused = true)]
async fn the_place_in_the_queue_goes_with_the_call_and_is_not_kept_by_the_service() {
    let tool = Script::new([Ok(Answer::ok("first")), Ok(Answer::ok("second"))]);
    let limited = ConcurrencyLimit::new(Strict::new(tool), 1);
    let mut holder = limited.clone();
    holder.ready().await.unwrap();
    let mut asked = AlwaysReadyLayer::new().layer(limited);
    let other = asked.clone();
    // It queues here.
    let first = asked.ready().await.unwrap().call(Call::tool("first"));
    drop(holder);

    let first = timeout(SECOND, first).await.expect("it has the next place");
    assert_eq!(first.unwrap(), Answer::ok("first"));
    let second = timeout(SECOND, other.oneshot(Call::tool("second"))).await;
    assert_eq!(second.expect("and gave it back").unwrap().text(), "second");
}

#[tokio::test(start_paused = true)]
async fn a_ready_timeout_of_months_is_a_limit_too() {
    const DAY: Duration = Duration::from_secs(24 * 60 * 60);
    let layer = AlwaysReadyLayer::new().ready_timeout(60 * DAY);
    let never = layer.layer(ConcurrencyLimit::new(Script::new([]), 0));
    let begun = Instant::now();
    let ended = timeout(100 * DAY, never.oneshot(Call::tool("quote_price"))).await;
    let failure = ended.expect("it ends").unwrap_err();
    assert_eq!(failure.class(), Class::Timeout);
    assert!(begun.elapsed() >= 49 * DAY);
}
