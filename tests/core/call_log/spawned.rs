//! Layers that run the call in another task.

use super::{MS, retry};
use crate::support::{Answer, Call, Lines, Script};
use mcp_resilience::{
    Failure,
    call::{Progress, ToolCall},
    call_log::CallLogLayer,
    classify::ClassifyLayer,
    is_error::IsErrorLayer,
};
use std::{
    pin::Pin,
    task::{Context, Poll},
};
use tower::{BoxError, Service, ServiceBuilder, ServiceExt, service_fn};

/// Calls the service within, and runs its future elsewhere.
#[derive(Clone)]
struct Spawn<S>(S);

impl<S, Req> Service<Req> for Spawn<S>
where
    S: Service<Req, Error: Into<BoxError>, Response: Send + 'static, Future: Send + 'static>,
{
    type Response = S::Response;
    type Error = BoxError;
    type Future = Pin<Box<dyn Future<Output = Result<S::Response, BoxError>> + Send>>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        self.0.poll_ready(cx).map_err(Into::into)
    }

    fn call(&mut self, call: Req) -> Self::Future {
        let answer = self.0.call(call);
        Box::pin(async move { tokio::spawn(async { answer.await.map_err(Into::into) }).await? })
    }
}

/// A call whose copies know each other.
#[derive(Clone)]
struct Known(Call, Progress);

impl ToolCall for Known {
    fn name(&self) -> &str {
        self.0.name()
    }

    fn hints(&self) -> mcp_resilience::call::Hints {
        self.0.hints()
    }

    fn progress(&self) -> Option<&Progress> {
        Some(&self.1)
    }
}

fn busy() -> Result<Answer, BoxError> {
    Err(Failure::at_capacity(None).before_running().into())
}

#[tokio::test(start_paused = true)]
async fn attempts_and_waits_behind_a_spawned_task_are_on_the_line() {
    let lines = Lines::default();
    let tools = ServiceBuilder::new()
        .layer(CallLogLayer::new(lines.clone()))
        .layer_fn(Spawn)
        .layer(IsErrorLayer::new())
        .layer(retry())
        .layer(ClassifyLayer::new())
        .service(Script::new([busy(), busy(), Ok(Answer::ok("fine"))]));
    tools.oneshot(Call::tool("t")).await.unwrap();
    let line = lines.only();
    assert_eq!(line["attempts"], 3);
    assert_eq!(line["retried"], true);
    assert_eq!(line["waited_ms"], 300);
    assert_eq!(line["retries"].as_array().unwrap().len(), 2);
    assert_eq!(line["outcome"], "success");
}

#[tokio::test(start_paused = true)]
async fn a_failure_that_was_flagged_in_a_spawned_task_is_on_the_line() {
    let lines = Lines::default();
    let tools = ServiceBuilder::new()
        .layer(CallLogLayer::new(lines.clone()))
        .layer_fn(Spawn)
        .layer(IsErrorLayer::new())
        .layer(retry())
        .layer(ClassifyLayer::new())
        .service(Script::new([busy(), Err("boom".into())]));
    let answer = tools.oneshot(Call::tool("t")).await.unwrap();
    let line = lines.only();
    assert_eq!(line["attempts"], 2);
    assert_eq!(line["class"], "crash");
    assert_eq!(line["is_error"], true);
    let id = line["call_id"].as_str().unwrap();
    assert!(answer.text().contains(id), "{}", answer.text());
}

#[tokio::test(start_paused = true)]
async fn behind_a_queue_a_call_that_reports_progress_is_known_by_that() {
    let lines = Lines::default();
    let mut script = Script::new([busy(), Ok(Answer::ok("fine"))]);
    let tool = service_fn(move |call: Known| script.call(call.0));
    let inner = ServiceBuilder::new()
        .layer(retry())
        .layer(ClassifyLayer::new())
        .service(tower::util::BoxCloneService::new(
            ServiceBuilder::new().buffer(4).service(tool),
        ));
    let tools = ServiceBuilder::new()
        .layer(CallLogLayer::new(lines.clone()))
        .buffer(4)
        .service(inner);
    let call = Known(Call::tool("t"), Progress::new());
    tools.oneshot(call).await.unwrap();
    assert_eq!(lines.only()["attempts"], 2);
}

#[tokio::test(start_paused = true)]
async fn a_stack_inside_a_tool_writes_nothing_into_the_line_outside_also_when_it_is_only_called_there()
 {
    let lines = Lines::default();
    let inner = ServiceBuilder::new()
        .layer(retry())
        .layer(ClassifyLayer::new())
        .service(Script::new([busy(), Ok(Answer::ok("fine"))]));
    let inner_called_at_once = service_fn(move |call: Known| {
        let mut inner = inner.clone();
        // Called here, and not when it is polled.
        inner.call(call.0)
    });
    let layers = ServiceBuilder::new()
        .layer(CallLogLayer::new(lines.clone()))
        .layer(ClassifyLayer::new());
    let call = Known(Call::tool("t"), Progress::new());
    let tools = layers.service(inner_called_at_once);
    tokio::time::advance(MS(1)).await;
    tools.oneshot(call).await.unwrap();
    assert_eq!(lines.only()["attempts"], 1);
}

/// The tool runs in another task, outside of the task-local, and passes its call on.
#[tokio::test(start_paused = true)]
async fn a_stack_inside_a_tool_writes_nothing_into_the_line_outside_also_behind_a_queue() {
    let lines = Lines::default();
    let mut script = Script::new([busy(), busy(), Ok(Answer::ok("fine"))]);
    let inner = ServiceBuilder::new()
        .layer(retry())
        .layer(ClassifyLayer::new())
        .buffer(4)
        .service_fn(move |call: Known| script.call(call.0));
    let tool = service_fn(move |call: Known| inner.clone().oneshot(call));
    let tools = ServiceBuilder::new()
        .layer(CallLogLayer::new(lines.clone()))
        .layer(IsErrorLayer::new())
        .layer(retry())
        .layer(ClassifyLayer::new())
        .buffer(4)
        .service(tool);
    let call = Known(Call::tool("t"), Progress::new());
    tools.oneshot(call).await.unwrap();
    let line = lines.only();
    assert_eq!(line["attempts"], 1, "{line}");
    assert_eq!(line["retried"], false, "{line}");
    assert_eq!(line["waited_ms"], 0, "{line}");
}
