//! A tool passes on a failure of a stack of its own.

use super::settings;
use crate::support::{Answer, Call, Script};
use mcp_resilience::{
    Delivery, Failure, classify::ClassifyLayer, policy::Policy, retry::RetryLayer,
};
use serde_json::json;
use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering::Relaxed},
};
use tower::{BoxError, Layer, ServiceExt, load_shed::error::Overloaded, service_fn};

/// How often a tool books that fails as its own client does.
pub(super) async fn bookings<F, A>(client: F) -> usize
where
    F: Fn() -> A + Clone + Send + Sync + 'static,
    A: Future<Output = Result<Answer, BoxError>> + Send,
{
    let booked = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&booked);
    let tool = service_fn(move |_: Call| {
        count.fetch_add(1, Relaxed);
        let client = client.clone();
        async move { client().await }
    });
    let stack = settings().build().unwrap().layer(tool);
    let _ = stack.oneshot(Call::tool("book")).await;
    booked.load(Relaxed)
}

/// Every claim of a nested stack about its own call.
fn refused() -> Vec<fn() -> Result<Answer, BoxError>> {
    vec![
        || Err(Overloaded::new().into()),
        || Err(Failure::rate_limited(None).before_running().into()),
        || {
            Err(Failure::connection("refused")
                .with_delivery(Delivery::NotSent)
                .into())
        },
        || Err(Failure::upstream("bad gateway").with_retryable(true).into()),
        || {
            Ok(Answer::envelope(
                json!({"code": "rate_limited", "error": "x"}),
            ))
        },
        || {
            Ok(Answer::envelope(
                json!({"code": "E17", "error": "x", "retryable": true}),
            ))
        },
    ]
}

#[tokio::test(start_paused = true)]
async fn a_failure_of_a_nested_border_says_nothing_of_the_call_of_the_tool() {
    for step in refused() {
        let nested = move || async move {
            let client = ClassifyLayer::new().layer(Script::new([step()]));
            Ok(client.oneshot(Call::tool("mail")).await?)
        };
        assert_eq!(bookings(nested).await, 1, "{:?}", step());
        let named = move || async move {
            let error = step().err().ok_or("an answer")?;
            Err(ClassifyLayer::new().classify(error).into())
        };
        assert_eq!(bookings(named).await, 1, "{:?}", step());
    }
}

#[tokio::test(start_paused = true)]
async fn a_failure_of_a_nested_stack_says_nothing_of_the_call_of_the_tool() {
    for step in refused() {
        let nested = move || async move {
            let mail = Script::new((0..9).map(|_| step()));
            let client = settings().build().unwrap().layer(mail);
            let answer = client.oneshot(Call::resource("mail://1")).await?;
            // A flagged result that is passed on unchanged counts as the tool's own.
            Err(format!("no mail: {}", answer.text()).into())
        };
        assert_eq!(bookings(nested).await, 1, "{:?}", step());
    }
}

#[tokio::test(start_paused = true)]
async fn a_nested_retry_without_a_border_says_nothing_of_the_call_of_the_tool_either() {
    let nested = || async {
        let mail = Script::new([Err(Failure::upstream("x").with_retryable(true).into())]);
        let once = RetryLayer::builder().max_attempts(1).build().unwrap();
        let failure = once.layer(mail).oneshot(Call::tool("mail")).await.err();
        let failure = failure.ok_or("an answer")?;
        assert_eq!(failure.retryable(), Some(true));
        Err::<Answer, _>(failure.into())
    };
    assert_eq!(bookings(nested).await, 1);
}

/// The page of `retry` warns of this: only `classify` tells which call a failure is about.
#[tokio::test(start_paused = true)]
async fn a_border_keeps_a_nested_failure_from_running_the_tool_again_and_a_retry_alone_does_not() {
    for (has_border, times) in [(true, 1), (false, 3)] {
        let booked = Arc::new(AtomicUsize::new(0));
        let count = Arc::clone(&booked);
        let tool = service_fn(move |_: Call| {
            count.fetch_add(1, Relaxed);
            async {
                let refused = Failure::rate_limited(None).before_running();
                let client = ClassifyLayer::new().layer(Script::new([Err(refused.into())]));
                Ok::<_, BoxError>(client.oneshot(Call::tool("mail")).await?)
            }
        });
        let retry = RetryLayer::builder()
            .policy(Policy::new().no_budget())
            .build()
            .unwrap();
        let outcome = if has_border {
            let tool = ClassifyLayer::new().layer(tool);
            retry.layer(tool).oneshot(Call::tool("book")).await
        } else {
            retry.layer(tool).oneshot(Call::tool("book")).await
        };
        assert!(outcome.is_err());
        assert_eq!(booked.load(Relaxed), times, "with a border: {has_border}");
    }
}

#[tokio::test(start_paused = true)]
async fn the_author_may_say_of_a_nested_failure_that_nothing_ran_yet() {
    let nested = || async {
        let client = ClassifyLayer::new().layer(Script::new([Err(Overloaded::new().into())]));
        let answer = client.oneshot(Call::tool("mail")).await;
        Ok(answer.map_err(Failure::before_running)?)
    };
    assert_eq!(bookings(nested).await, 3);
}

#[tokio::test(start_paused = true)]
async fn a_permission_to_repeat_does_not_restore_claims_about_another_call() {
    let nested = || async {
        let refused = Failure::rate_limited(None).before_running();
        let client = ClassifyLayer::new().layer(Script::new([Err(refused.into())]));
        let answer = client.oneshot(Call::tool("mail")).await;
        Ok(answer.map_err(|failure| failure.with_retryable(None))?)
    };
    assert_eq!(bookings(nested).await, 1);
}
