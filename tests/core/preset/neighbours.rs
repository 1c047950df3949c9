//! The layers of `tower-resilience` in the places that the page of the preset gives them: inside of the preset, and
//! around it.

use crate::support::{Answer, Call, Lines};
use mcp_resilience::{
    Delivery, Failure, ResilienceLayer,
    backoff::{Backoff, Jitter},
    call::{Hints, ToolCall},
    call_log::CallLogLayer,
    preset::ResilienceBuilder,
    retry::RetryLayer,
};
use std::{
    convert::Infallible,
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering::Relaxed},
    },
    task::{Context, Poll},
    time::Duration,
};
use tokio::{sync::Semaphore, time::Instant};
use tower::{BoxError, Layer, Service, ServiceExt, util::MapErrLayer};
use tower_resilience_bulkhead::{BulkheadLayer, BulkheadServiceError};
use tower_resilience_circuitbreaker::{CircuitBreakerLayer, CircuitState};
use tower_resilience_hedge::HedgeLayer;
use tower_resilience_ratelimiter::{RateLimiterLayer, RateLimiterServiceError};

const SECOND: Duration = Duration::from_secs(1);

/// Answers once it is let; each run has a number.
#[derive(Clone)]
struct Tool {
    runs: Arc<AtomicU32>,
    lets: Arc<Semaphore>,
}

impl Tool {
    /// One that waits for a permit to answer.
    fn held() -> Self {
        Self {
            runs: Arc::default(),
            lets: Arc::new(Semaphore::new(0)),
        }
    }

    fn free() -> Self {
        let tool = Self::held();
        tool.lets.add_permits(1000);
        tool
    }

    fn runs(&self) -> u32 {
        self.runs.load(Relaxed)
    }
}

impl Service<Call> for Tool {
    type Response = Answer;
    type Error = Infallible;
    type Future = Pin<Box<dyn Future<Output = Result<Answer, Infallible>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, _: Call) -> Self::Future {
        let run = self.runs.fetch_add(1, Relaxed) + 1;
        let lets = Arc::clone(&self.lets);
        Box::pin(async move {
            let _let = lets.acquire().await.unwrap();
            Ok(Answer::ok(&format!("run {run}")))
        })
    }
}

fn preset(lines: &Lines) -> ResilienceBuilder {
    let retry = RetryLayer::builder()
        .backoff(Backoff::new(SECOND, SECOND).unwrap())
        .jitter(Jitter::none())
        .build()
        .unwrap();
    ResilienceLayer::builder()
        .retry(retry)
        .log(CallLogLayer::new(lines.clone()))
}

/// Lets others run until nothing is left to do but to wait.
async fn settle() {
    for _ in 0..100 {
        tokio::task::yield_now().await;
    }
}

/// Their errors hide what they hold. A refusal of theirs is one of a call that was not sent.
fn of_limiter(error: RateLimiterServiceError<BoxError>) -> BoxError {
    let refused = || Failure::rate_limited(Some(2 * SECOND)).with_delivery(Delivery::NotSent);
    error.into_inner().unwrap_or_else(|| refused().into())
}

fn of_bulkhead(error: BulkheadServiceError<BoxError>) -> BoxError {
    let full = || Failure::at_capacity(None).with_delivery(Delivery::NotSent);
    error.into_inner().unwrap_or_else(|| full().into())
}

fn limiter() -> RateLimiterLayer {
    RateLimiterLayer::builder()
        .limit_for_period(1)
        .refresh_period(Duration::from_millis(20))
        .timeout_duration(Duration::ZERO)
        .build()
        .unwrap()
}

#[tokio::test]
async fn a_rate_limiter_inside_refuses_attempts_and_the_call_waits_and_runs_once() {
    // Its clock is the machine's: the wait of the refusal is longer than its period.
    let (lines, tool) = (Lines::default(), Tool::free());
    let resilience = preset(&lines)
        .layer_inside(MapErrLayer::new(of_limiter))
        .layer_inside(limiter())
        .build()
        .unwrap();
    let tools = resilience.layer(tool.clone());
    let begun = Instant::now();
    // The second call in a period is refused, and repeated although it may not run twice.
    let (first, second) = tokio::join!(
        tools.clone().oneshot(Call::tool("reserve")),
        tools.clone().oneshot(Call::tool("reserve")),
    );
    assert!(!first.unwrap().is_error && !second.unwrap().is_error);
    assert_eq!(tool.runs(), 2, "each once");
    if lines.all().iter().any(|line| line["retried"] == true) {
        assert!(begun.elapsed() >= 2 * SECOND, "never earlier than it says");
    }
}

#[tokio::test]
async fn a_rate_limiter_around_it_counts_calls_and_not_attempts() {
    let (lines, tool) = (Lines::default(), Tool::free());
    let hour = RateLimiterLayer::builder()
        .limit_for_period(1)
        .refresh_period(3600 * SECOND)
        .timeout_duration(Duration::ZERO)
        .build()
        .unwrap();
    let tools = hour.layer(preset(&lines).build().unwrap().layer(tool.clone()));
    tools.clone().oneshot(Call::tool("look")).await.unwrap();
    let refused = tools.clone().oneshot(Call::tool("look")).await.unwrap_err();
    assert!(refused.is_rate_limited());
    assert_eq!(tool.runs(), 1);
    lines.only();
}

#[tokio::test(start_paused = true)]
async fn a_bulkhead_inside_holds_nothing_while_a_call_waits_to_be_made_again() {
    let (lines, tool) = (Lines::default(), Tool::held());
    let (bulkhead, handle) = BulkheadLayer::builder()
        .max_concurrent_calls(1)
        .reject_when_full()
        .build_with_handle()
        .unwrap();
    let resilience = preset(&lines)
        .layer_inside(MapErrLayer::new(of_bulkhead))
        .layer_inside(bulkhead)
        .build()
        .unwrap();
    let tools = resilience.layer(tool.clone());
    let first = tokio::spawn(tools.clone().oneshot(Call::tool("reserve")));
    settle().await;
    let second = tokio::spawn(tools.clone().oneshot(Call::tool("reserve")));
    settle().await;
    assert_eq!(handle.active_calls(), 1, "the second waits outside");

    tool.lets.add_permits(2);
    assert_eq!(first.await.unwrap().unwrap().text(), "run 1");
    assert_eq!(handle.active_calls(), 0);
    let begun = Instant::now();
    assert_eq!(second.await.unwrap().unwrap().text(), "run 2");
    assert_eq!(begun.elapsed(), SECOND, "it was made again after its wait");
    assert_eq!(tool.runs(), 2, "each once");
}

#[tokio::test(start_paused = true)]
async fn a_bulkhead_around_it_holds_a_place_for_the_whole_call() {
    let (lines, tool) = (Lines::default(), Tool::held());
    let bulkhead = BulkheadLayer::builder()
        .max_concurrent_calls(1)
        .reject_when_full()
        .build()
        .unwrap();
    let tools = bulkhead.layer(preset(&lines).build().unwrap().layer(tool.clone()));
    let first = tokio::spawn(tools.clone().oneshot(Call::tool("look")));
    settle().await;
    let refused = tools.clone().oneshot(Call::tool("look")).await.unwrap_err();
    assert!(refused.is_bulkhead());
    tool.lets.add_permits(1);
    first.await.unwrap().unwrap();
    lines.only();
}

/// The error of a hedge has to be shared by its copies.
type Shared = Arc<Failure>;

#[tokio::test(start_paused = true)]
async fn a_hedge_around_the_tool_doubles_what_may_run_twice_and_nothing_else() {
    let (lines, tool) = (Lines::default(), Tool::held());
    let hedge = HedgeLayer::builder()
        .delay(SECOND)
        .max_hedged_attempts(2)
        .eligible_if(|call: &Call| may_run_twice(call.hints()))
        .build();
    let tools = preset(&lines)
        .build()
        .unwrap()
        .layer(hedge.layer(tool.clone()));
    for (call, runs) in [(Call::read_only("look"), 2), (Call::tool("reserve"), 1)] {
        let before = tool.runs();
        let calling = tokio::spawn(tools.clone().oneshot(call));
        tokio::time::sleep(2 * SECOND).await;
        tool.lets.add_permits(1);
        assert!(!calling.await.unwrap().unwrap().is_error);
        assert_eq!(tool.runs() - before, runs);
    }
    for line in lines.all() {
        assert_eq!(line["attempts"], 1, "one attempt of the stack: {line}");
    }
    assert_eq!(lines.all().len(), 2, "one line for each call");
}

fn may_run_twice(hints: Hints) -> bool {
    hints.is_read_only() || hints.is_idempotent()
}

#[tokio::test(start_paused = true)]
async fn a_hedge_around_the_preset_makes_two_calls_with_a_line_each() {
    let (lines, tool) = (Lines::default(), Tool::held());
    let hedge = HedgeLayer::builder()
        .delay(SECOND)
        .max_hedged_attempts(2)
        .eligible_if(|call: &Call| may_run_twice(call.hints()))
        .build();
    let shared = MapErrLayer::new(Shared::new);
    let stack = preset(&lines).build().unwrap().layer(tool.clone());
    let tools = hedge.layer(shared.layer(stack));
    let calling = tokio::spawn(tools.oneshot(Call::read_only("look")));
    tokio::time::sleep(2 * SECOND).await;
    tool.lets.add_permits(1);
    assert_eq!(calling.await.unwrap().unwrap().text(), "run 1");
    assert_eq!(tool.runs(), 2);
    let mut outcomes: Vec<String> = lines
        .all()
        .iter()
        .map(|line| line["outcome"].to_string())
        .collect();
    outcomes.sort();
    assert_eq!(outcomes, ["\"cancelled\"", "\"success\""]);
}

/// Inside: `preset::breaker`.
#[tokio::test(start_paused = true)]
async fn a_circuit_breaker_around_the_preset_sees_only_what_is_no_result() {
    let lines = Lines::default();
    let (breaker, handle) = CircuitBreakerLayer::builder()
        .consecutive_failures(2)
        .build_with_handle()
        .unwrap();
    let failing = tower::service_fn(async |call: Call| {
        Err::<Answer, _>(match &*call.name {
            "down" => Failure::upstream("502"),
            _ => Failure::protocol(-32001, "not for you", None),
        })
    });
    let tools = breaker.layer(preset(&lines).build().unwrap().layer(failing));
    for _ in 0..5 {
        // A flagged result is a result to it.
        let answer = tools.clone().oneshot(Call::tool("down")).await.unwrap();
        assert!(answer.is_error);
    }
    assert_eq!(handle.state(), CircuitState::Closed);
    for _ in 0..2 {
        tools.clone().oneshot(Call::tool("host")).await.unwrap_err();
    }
    assert!(handle.is_open());
    let logged = lines.all().len();
    tools.clone().oneshot(Call::tool("down")).await.unwrap_err();
    assert_eq!(lines.all().len(), logged, "an open circuit leaves no line");
}
