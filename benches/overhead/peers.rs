use crate::support::{Answer, Attempts, Call, Kind, Row, Tool};
use mcp_resilience::Failure;
use std::{
    pin::Pin,
    task::{Context, Poll},
    time::Duration,
};
use tower::{Layer, Service, ServiceExt, retry::RetryLayer as TowerRetryLayer};
use tower_resilience_retry::RetryLayer as ResilienceRetryLayer;

/// The tool alone, and in what else repeats calls: at most three attempts, without a wait.
pub(crate) fn rows(kind: Kind, request: fn() -> Call) -> Vec<Row> {
    let attempts = match kind {
        Kind::SecondAttempt => Attempts::without_budget(),
        _ => Attempts::new(),
    };
    let resilience = ResilienceRetryLayer::<Call, Answer, Failure>::builder()
        .max_attempts(3)
        .fixed_backoff(Duration::ZERO)
        .build();
    let row = |name, service| Row::of_requests(name, service, request);
    let mut rows = vec![
        Row::of_requests(
            "tower::retry",
            TowerRetryLayer::new(attempts).layer(Tool::new(kind)),
            request,
        ),
        Row::of_requests(
            "tower-resilience-retry",
            resilience.layer(Tool::new(kind)),
            request,
        ),
        Row::of_requests("a loop by hand", Loop(Tool::new(kind)), request),
    ];
    // It fails every other call.
    if kind != Kind::SecondAttempt {
        rows.insert(0, row("the tool alone", Tool::new(kind)));
    }
    rows
}

/// A loop written at the place of the call.
#[derive(Debug)]
struct Loop(Tool);

impl Service<Call> for Loop {
    type Response = Answer;
    type Error = Failure;
    type Future = Pin<Box<dyn Future<Output = Result<Answer, Failure>> + Send>>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Failure>> {
        self.0.poll_ready(cx)
    }

    fn call(&mut self, call: Call) -> Self::Future {
        let mut tool = self.0.clone();
        Box::pin(async move {
            for _ in 1..3 {
                if let Ok(answer) = tool.ready().await?.call(call.clone()).await {
                    return Ok(answer);
                }
            }
            tool.ready().await?.call(call).await
        })
    }
}
