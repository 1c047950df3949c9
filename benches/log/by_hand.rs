use crate::support::{Answer, Call};
use mcp_resilience::call::{ToolCall, ToolResult};
use std::{
    pin::Pin,
    sync::atomic::{AtomicU64, Ordering::Relaxed},
    task::{Context, Poll},
};
use tokio::time::Instant;
use tower::Service;

static CALLS: AtomicU64 = AtomicU64::new(0);

/// Writes the event that one writes by hand: the fields of a line, arguments and all, and nothing masked.
#[derive(Clone, Debug)]
pub(crate) struct ByHand<S>(pub(crate) S);

impl<S> Service<Call> for ByHand<S>
where
    S: Service<Call, Response = Answer, Future: Send + 'static>,
{
    type Response = Answer;
    type Error = S::Error;
    type Future = Pin<Box<dyn Future<Output = Result<Answer, S::Error>> + Send>>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        self.0.poll_ready(cx)
    }

    fn call(&mut self, call: Call) -> Self::Future {
        let begun = Instant::now();
        let tool = call.name().to_owned();
        let arguments = call.arguments_as_json();
        let answer = self.0.call(call);
        Box::pin(async move {
            let result = answer.await;
            let is_error = result.as_ref().map_or(true, ToolResult::is_error);
            let call_id = CALLS.fetch_add(1, Relaxed);
            tracing::info!(
                method = "tools/call",
                tool,
                arguments,
                outcome = if is_error { "failed" } else { "success" },
                is_error,
                retried = false,
                attempts = 1,
                latency_ms = u64::try_from(begun.elapsed().as_millis()).unwrap_or(u64::MAX),
                waited_ms = 0,
                call_id = format!("{call_id:016x}"),
            );
            result
        })
    }
}
