use super::call::{Answer, Call};
use serde_json::{Value, json};
use std::{
    collections::HashMap,
    convert::Infallible,
    future::Future,
    pin::Pin,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    task::{Context, Poll},
    time::Duration,
};
use tokio::time::{Instant, sleep};
use tower::Service;

/// The time for which a quota holds.
const WINDOW: Duration = Duration::from_secs(5);

/// How long a refusal takes.
const REFUSAL: Duration = Duration::from_millis(5);

/// The condition of the server at a time.
#[derive(Clone, Copy, Debug)]
pub(super) enum Condition {
    Down,
    /// Refuses everything until then.
    Closed(Duration),
    /// Serves this many calls a second, each in this time.
    Serving {
        per_second: f64,
        latency: Duration,
    },
}

/// A server with a quota.
#[derive(Clone, Debug)]
pub(super) struct Upstream {
    begun: Instant,
    condition: fn(Duration) -> Condition,
    refusal_cost: f64,
    state: Arc<Mutex<State>>,
}

#[derive(Debug, Default)]
struct State {
    window: u64,
    used: f64,
    refused: f64,
    attempts: Vec<Duration>,
    asked: HashMap<usize, Duration>,
    early: usize,
}

impl Upstream {
    pub(super) fn new(condition: fn(Duration) -> Condition, refusal_cost: f64) -> Self {
        Self {
            begun: Instant::now(),
            condition,
            refusal_cost,
            state: Arc::default(),
        }
    }

    pub(super) fn begun(&self) -> Instant {
        self.begun
    }

    /// The times of all attempts.
    pub(super) fn attempts(&self) -> Vec<Duration> {
        self.state().attempts.clone()
    }

    /// How many attempts came before the end of the wait that it asked for.
    pub(super) fn early(&self) -> usize {
        self.state().early
    }

    /// The envelope of a refusal, or else how long serving takes.
    fn take(&self, call: Call) -> Result<Duration, Value> {
        let now = self.begun.elapsed();
        let mut state = self.state();
        state.attempts.push(now);
        if state
            .asked
            .get(&call.number)
            .is_some_and(|until| now < *until)
        {
            state.early += 1;
        }
        let (until, rpm) = match (self.condition)(now) {
            Condition::Down => {
                let code = "service_unavailable";
                return Err(
                    json!({"service": "single", "code": code, "status": 503, "error": "Service unavailable"}),
                );
            }
            Condition::Closed(until) => (until, 0.0),
            Condition::Serving {
                per_second,
                latency,
            } => {
                let window = now.as_secs() / WINDOW.as_secs();
                if state.window != window {
                    state.window = window;
                    state.used = std::mem::take(&mut state.refused) * self.refusal_cost;
                }
                if state.used + 1.0 <= per_second * WINDOW.as_secs_f64() {
                    state.used += 1.0;
                    return Ok(latency);
                }
                state.refused += 1.0;
                (
                    WINDOW * u32::try_from(window + 1).unwrap_or(u32::MAX),
                    per_second * 60.0,
                )
            }
        };
        // The envelope has whole seconds.
        let seconds = until.saturating_sub(now).as_secs_f64().ceil();
        state
            .asked
            .insert(call.number, now + Duration::from_secs_f64(seconds));
        Err(json!({
            "service": "single", "code": "rate_limited", "status": 429, "error": "Rate limit exceeded",
            "retryAfter": seconds, "limits": {"maxRpm": rpm},
        }))
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Service<Call> for Upstream {
    type Response = Answer;
    type Error = Infallible;
    type Future = Pin<Box<dyn Future<Output = Result<Answer, Infallible>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, call: Call) -> Self::Future {
        let taken = self.take(call);
        Box::pin(async move {
            sleep(*taken.as_ref().unwrap_or(&REFUSAL)).await;
            let envelope = taken.err();
            Ok(Answer { envelope })
        })
    }
}
