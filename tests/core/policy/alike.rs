//! With policies, each tool is treated as in a stack that is built for it alone.

use super::SECOND;
use crate::support::{Answer, Call, Script};
use mcp_resilience::{
    Failure, ResilienceLayer,
    backoff::{Backoff, Jitter},
    call_log::CallLogLayer,
    policy::{InvalidPolicy, Policies, Policy},
    retry::{RetryBuilder, RetryLayer},
    timeout::{TimeoutBuilder, TimeoutLayer},
};
use proptest::prelude::*;
use std::time::Duration;
use tokio::time::Instant;
use tower::{BoxError, Layer, ServiceExt};

/// The settings of a tool or of a layer.
#[derive(Clone, Debug, Default)]
#[expect(
    clippy::option_option,
    reason = "that there is no limit may be said, or left out"
)]
struct Said {
    attempt: Option<u64>,
    ceiling: Option<u64>,
    deadline: Option<Option<u64>>,
    window: Option<u64>,
    attempts: Option<u32>,
    backoff: Option<u64>,
    repeat_ok: Option<bool>,
    budget: Option<Option<(f32, u32)>>,
}

impl Said {
    /// The layer's settings that apply to a tool with these settings.
    fn or(self, layer: &Self) -> Self {
        Self {
            attempt: self.attempt.or(layer.attempt),
            ceiling: self.ceiling.or(layer.ceiling),
            deadline: self.deadline.or(layer.deadline),
            window: self.window.or(layer.window),
            attempts: self.attempts.or(layer.attempts),
            backoff: self.backoff.or(layer.backoff),
            repeat_ok: self.repeat_ok.or(layer.repeat_ok),
            budget: self.budget.or(layer.budget),
        }
    }

    fn policy(&self) -> Policy {
        let seconds = Duration::from_secs;
        let mut policy = Policy::new();
        if let Some(limit) = self.attempt {
            policy = policy.attempt_timeout(seconds(limit));
        }
        if let Some(limit) = self.ceiling {
            policy = policy.ceiling(seconds(limit));
        }
        policy = match self.deadline {
            Some(Some(limit)) => policy.deadline(seconds(limit)),
            Some(None) => policy.no_deadline(),
            None => policy,
        };
        if let Some(window) = self.window {
            policy = policy.retry_window(seconds(window));
        }
        if let Some(attempts) = self.attempts {
            policy = policy.max_attempts(attempts);
        }
        if let Some(base) = self.backoff {
            policy = policy.backoff(Backoff::new(seconds(base), 8 * SECOND).unwrap());
        }
        if let Some(word) = self.repeat_ok {
            policy = policy.repeat_ok(word);
        }
        match self.budget {
            Some(Some((share, per_second))) => policy.budget(share, per_second),
            Some(None) => policy.no_budget(),
            None => policy,
        }
    }

    fn retry(&self) -> RetryBuilder {
        let seconds = Duration::from_secs;
        let mut retry = RetryLayer::builder().jitter(Jitter::none());
        retry = match self.deadline {
            Some(Some(limit)) => retry.deadline(seconds(limit)),
            Some(None) => retry.policy(Policy::new().no_deadline()),
            None => retry,
        };
        if let Some(window) = self.window {
            retry = retry.retry_window(seconds(window));
        }
        if let Some(attempts) = self.attempts {
            retry = retry.max_attempts(attempts);
        }
        if let Some(base) = self.backoff {
            retry = retry.backoff(Backoff::new(seconds(base), 8 * SECOND).unwrap());
        }
        if let Some(word) = self.repeat_ok {
            retry = retry.repeat_ok(move |_| Some(word));
        }
        match self.budget {
            Some(Some((share, per_second))) => retry.budget(share, per_second),
            Some(None) => retry.policy(Policy::new().no_budget()),
            None => retry,
        }
    }

    fn timeout(&self) -> Option<TimeoutBuilder> {
        let timeout = TimeoutLayer::builder(Duration::from_secs(self.attempt?));
        Some(match self.ceiling {
            Some(ceiling) => timeout.ceiling(Duration::from_secs(ceiling)),
            None => timeout,
        })
    }

    fn preset(&self, policies: Policies) -> Result<ResilienceLayer, InvalidPolicy> {
        let mut settings = ResilienceLayer::builder()
            .log(CallLogLayer::off())
            .retry(self.retry().build()?)
            .policies(policies);
        if let Some(limit) = self.attempt {
            settings = settings.attempt_timeout(Duration::from_secs(limit));
        }
        if let Some(limit) = self.ceiling {
            settings = settings.policy(Policy::new().ceiling(Duration::from_secs(limit)));
        }
        settings.build()
    }
}

fn said() -> impl Strategy<Value = Said> {
    let limits = (
        option(1..40_u64),
        option(20..60_u64),
        option(prop_oneof![Just(None), (1..80_u64).prop_map(Some)]),
        option(1..80_u64),
    );
    let repeats = (
        option(1..6_u32),
        option(1..8_u64),
        option(any::<bool>()),
        option(prop_oneof![
            Just(None),
            (0.0..1.0_f32, 0..2_u32).prop_map(Some)
        ]),
    );
    (limits, repeats).prop_map(|(limits, repeats)| Said {
        attempt: limits.0,
        ceiling: limits.1,
        deadline: limits.2,
        window: limits.3,
        attempts: repeats.0,
        backoff: repeats.1,
        repeat_ok: repeats.2,
        budget: repeats.3,
    })
}

fn option<T: std::fmt::Debug + Clone>(
    some: impl Strategy<Value = T>,
) -> impl Strategy<Value = Option<T>> {
    prop::option::of(some)
}

/// The tool's behaviour at each attempt: how long it takes, and how it ends.
type Steps = Vec<(u64, u8)>;

fn steps() -> impl Strategy<Value = Steps> {
    prop::collection::vec((0..45_u64, 0..4_u8), 6)
}

fn tool(steps: &Steps) -> Script {
    Script::timed(steps.iter().map(|&(length, end)| {
        let end: Result<Answer, BoxError> = match end {
            0 => Ok(Answer::ok("fine")),
            1 => Err(Failure::rate_limited(Some(SECOND)).before_running().into()),
            2 => Err(Failure::connection("reset by peer").into()),
            _ => Err(Failure::unavailable(None).before_running().into()),
        };
        (Duration::from_secs(length), end)
    }))
}

/// The observations of a call: when attempts began, and how and when it ended.
async fn seen<L>(layer: &L, calls: &[(Call, Steps)]) -> Vec<(Vec<Duration>, Duration, String)>
where
    L: Layer<Script>,
    L::Service: tower::Service<Call, Response = Answer, Error: std::fmt::Debug>,
{
    let mut all = Vec::new();
    for (call, steps) in calls {
        let (begun, tool) = (Instant::now(), tool(steps));
        let outcome = layer.layer(tool.clone()).oneshot(call.clone()).await;
        all.push((tool.calls(), begun.elapsed(), format!("{outcome:?}")));
    }
    all
}

fn paused(run: impl Future<Output = ()>) {
    let runtime = tokio::runtime::Builder::new_current_thread();
    let runtime = { runtime }.enable_time().start_paused(true).build();
    runtime.unwrap().block_on(run);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn each_layer_does_what_one_built_for_that_tool_alone_does(
        layer in said(),
        one in said(),
        other in said(),
        scripts in prop::collection::vec((any::<bool>(), steps()), 1..5),
    ) {
        // A shared budget is left out.
        let layer = Said { budget: Some(None), ..layer };
        let policies = Policies::new().tool("one", one.policy()).tool("other", other.policy());
        let (Ok(together), Ok(plain)) = (layer.preset(policies.clone()), layer.preset(Policies::new())) else {
            return Ok(());
        };
        let named = |name: &str| -> Vec<_> {
            let call = |is_read_only| if is_read_only { Call::read_only(name) } else { Call::tool(name) };
            scripts.iter().map(|(is_read_only, steps)| (call(*is_read_only), steps.clone())).collect()
        };
        let retry_together = layer.retry().policies(policies.clone()).build();
        paused(async {
            for (name, said) in [("one", one), ("other", other)] {
                let alone = said.or(&layer);
                // If a setting of the layer does not apply, there is nothing to compare.
                if let Ok(alone) = alone.preset(Policies::new()) {
                    let calls = named(name);
                    assert_eq!(seen(&together, &calls).await, seen(&alone, &calls).await, "the preset");
                }
                if let (Ok(together), Ok(alone)) = (&retry_together, alone.retry().build()) {
                    let calls = named(name);
                    assert_eq!(seen(together, &calls).await, seen(&alone, &calls).await, "retry");
                }
                if let (Some(together), Some(alone)) = (layer.timeout(), alone.timeout()) {
                    let together = together.policies(policies.clone()).build();
                    if let (Ok(together), Ok(alone)) = (together, alone.build()) {
                        let calls = named(name);
                        assert_eq!(seen(&together, &calls).await, seen(&alone, &calls).await, "timeout");
                    }
                }
            }
            let calls = named("none");
            assert_eq!(seen(&together, &calls).await, seen(&plain, &calls).await, "no policy");
        });
    }
}
