//! Settings of one call among those of its layers.

use super::{SECOND, exact};
use crate::support::{Answer, Call};
use mcp_resilience::{
    Failure, ResilienceLayer,
    call::{CallOptions, Hints, ToolCall},
    call_log::CallLogLayer,
    retry::RetryBuilder,
};
use std::{
    sync::{Arc, Mutex},
    time::Duration,
};
use tokio::time::{Instant, sleep};
use tower::{Layer, ServiceExt, service_fn};

const MINUTE: Duration = Duration::from_secs(60);

#[derive(Clone)]
struct Own(Call, CallOptions);

impl ToolCall for Own {
    fn name(&self) -> &str {
        self.0.name()
    }

    fn hints(&self) -> Hints {
        self.0.hints()
    }

    fn options(&self) -> Option<&CallOptions> {
        Some(&self.1)
    }
}

fn options(set: impl FnOnce(&mut CallOptions)) -> CallOptions {
    let mut options = CallOptions::new();
    set(&mut options);
    options
}

/// How a call ends that takes so long, when, and after how many attempts.
async fn ends(
    retry: RetryBuilder,
    options: CallOptions,
    takes: Duration,
    fails: Option<Failure>,
) -> (Answer, Duration, usize) {
    let resilience = ResilienceLayer::builder()
        .log(CallLogLayer::off())
        .retry(retry.build().unwrap());
    let fails = Arc::new(Mutex::new((fails, 0)));
    let counted = Arc::clone(&fails);
    let tool = service_fn(move |_: Own| {
        let mut fails = fails.lock().unwrap();
        fails.1 += 1;
        let failure = fails.0.take();
        async move {
            sleep(takes).await;
            failure.map_or(Ok(Answer::ok("done")), Err)
        }
    });
    let call = Own(Call::tool("print"), options);
    let begun = Instant::now();
    let tools = resilience.build().unwrap().layer(tool);
    let answer = tools.oneshot(call).await.unwrap();
    let attempts = counted.lock().unwrap().1;
    (answer, begun.elapsed(), attempts)
}

#[tokio::test(start_paused = true)]
async fn a_longer_deadline_of_a_call_leaves_its_attempts_their_usual_limit() {
    // The usual one is 10 minutes; with this deadline the layer has none.
    let retry = || exact().deadline(5 * MINUTE);
    let longer = options(|own| own.deadline = Some(30 * MINUTE));
    let (answer, after, _) = ends(retry(), longer.clone(), 60 * MINUTE, None).await;
    assert_eq!((answer.is_error, after), (true, 10 * MINUTE));
    let (answer, after, _) = ends(retry(), longer, 9 * MINUTE, None).await;
    assert_eq!((answer.text(), after), ("done", 9 * MINUTE));

    let shorter = options(|own| own.deadline = Some(MINUTE));
    let (answer, after, _) = ends(retry(), shorter, 60 * MINUTE, None).await;
    assert_eq!((answer.is_error, after), (true, MINUTE));
}

#[tokio::test(start_paused = true)]
async fn a_longer_deadline_of_a_call_lets_it_wait_for_longer_hints() {
    let refused = || Failure::rate_limited(Some(2 * MINUTE)).before_running();
    let longer = || options(|own| own.deadline = Some(10 * MINUTE));
    let (answer, after, attempts) = ends(exact(), longer(), SECOND, Some(refused())).await;
    assert_eq!(answer.text(), "done");
    assert_eq!((after, attempts), (2 * MINUTE + 2 * SECOND, 2));

    let (answer, _, attempts) = ends(exact(), options(|_| ()), SECOND, Some(refused())).await;
    assert_eq!((answer.is_error, attempts), (true, 1), "not within 55 s");
    let set = exact().max_retry_after(MINUTE);
    let (answer, _, attempts) = ends(set, longer(), SECOND, Some(refused())).await;
    assert_eq!((answer.is_error, attempts), (true, 1), "as it is set");
}

#[tokio::test(start_paused = true)]
async fn a_calls_own_limit_of_an_attempt_is_not_cut_short_by_the_layers_deadline() {
    let retry = || exact().deadline(30 * SECOND);
    let own = || options(|own| own.attempt_timeout = Some(90 * SECOND));
    let (answer, after, _) = ends(retry(), own(), 60 * SECOND, None).await;
    assert_eq!((answer.text(), after), ("done", 60 * SECOND));
    let (answer, after, _) = ends(retry(), own(), 60 * MINUTE, None).await;
    assert_eq!((answer.is_error, after), (true, 90 * SECOND));

    let shorter = options(|own| own.attempt_timeout = Some(10 * SECOND));
    let (answer, after, _) = ends(retry(), shorter, 60 * MINUTE, None).await;
    assert_eq!((answer.is_error, after), (true, 10 * SECOND));
}
