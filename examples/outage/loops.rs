//! Retries of other libraries.

use super::{
    call::{Answer, Call},
    random::{Seeded, numbers},
};
use mcp_resilience::call::ToolResult;
use std::{convert::Infallible, time::Duration};
use tokio::time::{Sleep, sleep};
use tower::{
    BoxError, Service, ServiceExt,
    retry::{
        Policy,
        backoff::{Backoff, ExponentialBackoff, ExponentialBackoffMaker, MakeBackoff},
    },
    util::rng::HasherRng,
};

/// The loop of the server's documentation, statement by statement.
pub(super) async fn documented<S>(service: S, call: Call) -> Result<Answer, BoxError>
where
    S: Service<Call, Response = Answer, Error = Infallible> + Clone,
{
    let max_attempts = 3;
    for attempt in 1..=max_attempts {
        let answer = service.clone().oneshot(call).await?;
        let Some(envelope) = &answer.envelope else {
            return Ok(answer);
        };
        let code = envelope["code"].as_str().unwrap_or_default();
        let wait = envelope["retryAfter"].as_f64();
        let wait = wait.unwrap_or_else(|| f64::from(2_u32.pow(attempt).min(30)));
        let transient = [
            "rate_limited",
            "at_capacity",
            "service_unavailable",
            "upstream_error",
        ];
        if transient.contains(&code) {
            sleep(Duration::from_secs_f64(wait)).await;
            continue;
        }
        return Err(format!("{code}: {}", envelope["error"]).into());
    }
    Err("max retries exceeded".into())
}

/// Three attempts for tower's `Retry`, with tower's exponential backoff.
#[derive(Clone, Debug)]
pub(super) struct ThreeAttempts {
    left: u32,
    backoff: ExponentialBackoff<HasherRng<Seeded>>,
}

impl ThreeAttempts {
    /// Uses the defaults of `ExponentialBackoffMaker`, except for the seed.
    pub(super) fn new(seed: u64) -> Result<Self, BoxError> {
        let (min, max) = (Duration::from_millis(50), Duration::from_millis(u64::MAX));
        let maker = ExponentialBackoffMaker::new(min, max, 0.99, numbers(seed));
        let mut maker = maker.map_err(|error| error.to_string())?;
        Ok(Self {
            left: 2,
            backoff: maker.make_backoff(),
        })
    }
}

impl Policy<Call, Answer, Infallible> for ThreeAttempts {
    type Future = Sleep;

    fn retry(
        &mut self,
        _: &mut Call,
        result: &mut Result<Answer, Infallible>,
    ) -> Option<Self::Future> {
        let is_failed = result.as_ref().is_ok_and(ToolResult::is_error);
        self.left = self.left.checked_sub(u32::from(is_failed))?;
        is_failed.then(|| self.backoff.next_backoff())
    }

    fn clone_request(&mut self, call: &Call) -> Option<Call> {
        Some(*call)
    }
}
