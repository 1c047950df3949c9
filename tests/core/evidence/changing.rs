//! Hints that are withdrawn while a call runs.

use super::settings;
use crate::support::Answer;
use mcp_resilience::{
    Failure,
    backoff::Jitter,
    call::{CallOptions, HintSource, Hints, ToolCall},
    policy::{Policies, Policy},
    retry::RetryLayer,
};
use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU32, Ordering::Relaxed},
    },
    time::Duration,
};
use tower::{Layer, ServiceExt, service_fn};

/// A call of a tool that is read-only until its hint is withdrawn.
#[derive(Clone)]
struct Look {
    is_read_only: Arc<AtomicBool>,
    options: Option<CallOptions>,
}

impl Look {
    fn new(is_read_only: Arc<AtomicBool>) -> Self {
        Self {
            is_read_only,
            options: None,
        }
    }

    fn now(is_read_only: &AtomicBool) -> Hints {
        let hints = Hints::new().output_schema(false);
        hints.read_only(is_read_only.load(Relaxed))
    }
}

impl ToolCall for Look {
    fn name(&self) -> &'static str {
        "look"
    }

    fn hints(&self) -> Hints {
        Self::now(&self.is_read_only)
    }

    fn hint_source(&self) -> Option<HintSource> {
        let is_read_only = Arc::clone(&self.is_read_only);
        Some(HintSource::new(move || Self::now(&is_read_only)))
    }

    fn options(&self) -> Option<&CallOptions> {
        self.options.as_ref()
    }
}

#[tokio::test(start_paused = true)]
async fn hints_that_are_withdrawn_in_the_last_attempt_do_not_tell_a_model_to_repeat() {
    let failures: [fn() -> Failure; 3] = [
        || Failure::upstream("bad gateway"),
        || Failure::connection("reset"),
        || Failure::invalid_output("it is no JSON"),
    ];
    for (failure, attempts) in failures.iter().flat_map(|f| [1, 2, 3].map(|n| (*f, n))) {
        let last = if failure().class().heals() {
            attempts
        } else {
            1
        };
        let is_read_only = Arc::new(AtomicBool::new(true));
        let ran = Arc::new(AtomicU32::new(0));
        let (withdrawn, count) = (Arc::clone(&is_read_only), Arc::clone(&ran));
        let tool = service_fn(move |call: Look| {
            // The call itself is gone when it is answered.
            drop(call);
            if count.fetch_add(1, Relaxed) + 1 == last {
                withdrawn.store(false, Relaxed);
            }
            async move { Err::<Answer, _>(failure()) }
        });
        let retry = RetryLayer::builder()
            .jitter(Jitter::none())
            .policy(Policy::new().no_budget());
        let retry = retry.max_attempts(attempts).build().unwrap();
        let stack = settings().retry(retry).build().unwrap().layer(tool);
        let answer = stack.oneshot(Look::new(is_read_only)).await.unwrap();
        assert_eq!(ran.load(Relaxed), last);
        let text = answer.text();
        assert!(text.contains("run; verify before repeating."), "{text}");
        let envelope = answer.structured.as_ref().unwrap();
        assert_eq!(envelope["retryable"], false, "{envelope}");
    }
}

/// The first attempt may have run, and was allowed a second. That one is refused, which allows a third
/// only as long as the first does no harm.
#[tokio::test(start_paused = true)]
async fn a_refused_attempt_is_not_repeated_after_one_that_ran_once_the_hints_are_withdrawn() {
    for (withdrawn_at, ran) in [(1, 1), (2, 2), (9, 3)] {
        let is_read_only = Arc::new(AtomicBool::new(true));
        let calls = Arc::new(AtomicU32::new(0));
        let (withdrawn, count) = (Arc::clone(&is_read_only), Arc::clone(&calls));
        let tool = service_fn(move |_: Look| {
            let attempt = count.fetch_add(1, Relaxed) + 1;
            if attempt == withdrawn_at {
                withdrawn.store(false, Relaxed);
            }
            let failure = match attempt {
                1 => Failure::upstream("bad gateway"),
                _ => Failure::rate_limited(None).before_running(),
            };
            async move { Err::<Answer, _>(failure) }
        });
        let retry = RetryLayer::builder()
            .jitter(Jitter::none())
            .policy(Policy::new().no_budget());
        let retry = retry.build().unwrap();
        let stack = settings().retry(retry).build().unwrap().layer(tool);
        let answer = stack.oneshot(Look::new(is_read_only)).await.unwrap();
        assert_eq!(calls.load(Relaxed), ran, "withdrawn at {withdrawn_at}");
        let text = answer.text();
        let warns = text.contains("It may have run; verify before repeating.")
            || text.contains("It has run; verify before repeating.");
        assert_eq!(warns, ran < 3, "{text}");
    }
}

#[tokio::test(start_paused = true)]
async fn hints_that_are_withdrawn_during_the_wait_stop_the_repeat() {
    let is_read_only = Arc::new(AtomicBool::new(true));
    let ran = Arc::new(AtomicU32::new(0));
    let count = Arc::clone(&ran);
    let tool = service_fn(move |_: Look| {
        count.fetch_add(1, Relaxed);
        async { Err::<Answer, _>(Failure::upstream("bad gateway")) }
    });
    let retry = RetryLayer::builder()
        .jitter(Jitter::none())
        .policy(Policy::new().no_budget());
    let stack = settings().retry(retry.build().unwrap()).build().unwrap();
    let withdrawn = Arc::clone(&is_read_only);
    let (answer, ()) = tokio::join!(
        stack.layer(tool).oneshot(Look::new(is_read_only)),
        async move {
            // The wait is one second.
            tokio::time::sleep(Duration::from_millis(500)).await;
            withdrawn.store(false, Relaxed);
        }
    );
    assert_eq!(ran.load(Relaxed), 1);
    let answer = answer.unwrap();
    let text = answer.text();
    assert!(
        text.contains("It has run; verify before repeating."),
        "{text}"
    );
    assert_eq!(answer.structured.as_ref().unwrap()["attempts"], 1);
}

/// A policy that was chosen by hints ends with them.
#[tokio::test(start_paused = true)]
async fn a_policy_that_is_withdrawn_allows_no_repeat_of_a_call_with_options_either() {
    let mut five = CallOptions::new();
    five.max_attempts = Some(5);
    let mut allowed = five.clone();
    allowed.repeat_ok = Some(true);
    for (options, ran) in [(None, 1), (Some(five), 1), (Some(allowed), 5)] {
        let is_read_only = Arc::new(AtomicBool::new(true));
        let calls = Arc::new(AtomicU32::new(0));
        let (withdrawn, count) = (Arc::clone(&is_read_only), Arc::clone(&calls));
        let tool = service_fn(move |_: Look| {
            count.fetch_add(1, Relaxed);
            withdrawn.store(false, Relaxed);
            async { Err::<Answer, _>(Failure::connection("reset")) }
        });
        let repeats = Policy::new().repeat_ok(true);
        let policies = Policies::new().hinted(Hints::is_read_only, repeats);
        let retry = RetryLayer::builder()
            .jitter(Jitter::none())
            .policy(Policy::new().no_budget());
        let retry = retry.policies(policies).build().unwrap();
        let stack = settings().retry(retry).build().unwrap().layer(tool);
        let look = Look {
            is_read_only,
            options: options.clone(),
        };
        stack.oneshot(look).await.unwrap();
        assert_eq!(calls.load(Relaxed), ran, "{options:?}");
    }
}
