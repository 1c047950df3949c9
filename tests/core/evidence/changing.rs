//! Hints that are withdrawn while a call runs.

use super::settings;
use crate::support::Answer;
use mcp_resilience::{
    Failure,
    backoff::Jitter,
    call::{HintSource, Hints, ToolCall},
    retry::RetryLayer,
};
use std::sync::{
    Arc,
    atomic::{AtomicBool, AtomicU32, Ordering::Relaxed},
};
use tower::{Layer, ServiceExt, service_fn};

/// A call of a tool that is read-only as long as that is said.
#[derive(Clone)]
struct Look {
    is_read_only: Arc<AtomicBool>,
}

impl Look {
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
        let retry = RetryLayer::builder().jitter(Jitter::none()).no_budget();
        let retry = retry.max_attempts(attempts).build().unwrap();
        let stack = settings().retry(retry).build().unwrap().layer(tool);
        let answer = stack.oneshot(Look { is_read_only }).await.unwrap();
        assert_eq!(ran.load(Relaxed), last);
        let text = answer.text();
        assert!(text.contains("run; verify before repeating."), "{text}");
        let envelope = answer.structured.as_ref().unwrap();
        assert_eq!(envelope["retryable"], false, "{envelope}");
    }
}
