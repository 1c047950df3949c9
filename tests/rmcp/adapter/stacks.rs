//! A stack of the user around a handler.

use crate::support::{Desk, Log, Run, WAIT, assert_has, call, connect, ok, retry, text};
use mcp_resilience::{
    Failure,
    call_log::CallLogLayer,
    classify::ClassifyLayer,
    fatal::FatalLayer,
    is_error::IsErrorLayer,
    rmcp::{Answer, HandlerService, Resilient, ServerAnswer, ServerCall},
};
use rmcp::{
    ErrorData,
    model::{CallToolResult, ErrorCode},
    service::ServiceError,
};
use serde_json::json;
use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering::SeqCst},
    },
    time::Duration,
};
use tokio::time::Instant;
use tower::{
    BoxError, Layer, Service, ServiceBuilder, layer::layer_fn, service_fn,
    util::BoxCloneSyncService,
};

#[tokio::test(start_paused = true)]
async fn layers_in_another_order_work_with_a_limit_among_them() {
    let running = Arc::new(AtomicUsize::new(0));
    let most = Arc::new(AtomicUsize::new(0));
    let desk = Desk::new({
        let (running, most) = (Arc::clone(&running), Arc::clone(&most));
        move |run: Run| {
            let (running, most) = (Arc::clone(&running), Arc::clone(&most));
            async move {
                most.fetch_max(running.fetch_add(1, SeqCst) + 1, SeqCst);
                tokio::time::sleep(Duration::from_millis(50)).await;
                running.fetch_sub(1, SeqCst);
                match run.number {
                    1..=3 => Err(Failure::at_capacity(None).before_running().into()),
                    _ => ok("done"),
                }
            }
        }
    });
    let attempts = desk.attempts();
    let log = Log::default();
    let stack = ServiceBuilder::new()
        .layer(CallLogLayer::new(log.clone()))
        .layer(IsErrorLayer::new())
        .layer(retry().build().unwrap())
        .concurrency_limit(1)
        .layer(ClassifyLayer::new())
        .into_inner();
    let client = connect(Resilient::with_layer(desk, &stack), ()).await;

    let begun = Instant::now();
    let (a, b, c) = tokio::join!(
        client.call_tool(call("one")),
        client.call_tool(call("two")),
        client.call_tool(call("three")),
    );
    for answer in [a, b, c] {
        assert_eq!(text(&answer.unwrap()), "done");
    }
    assert_eq!(most.load(SeqCst), 1, "one at a time");
    assert_eq!(attempts.so_far().len(), 6);
    // While one waits for its repeat, the others have the place.
    assert!(begun.elapsed() <= 6 * Duration::from_millis(50) + WAIT);
    let lines = log.all();
    assert_eq!(lines.len(), 3);
    for line in lines {
        assert_has(&line, &json!({"outcome": "success", "attempts": 2}));
    }
}

#[tokio::test(start_paused = true)]
async fn a_shed_call_is_answered_as_not_run() {
    let desk = Desk::new(|_| async {
        tokio::time::sleep(Duration::from_secs(1)).await;
        ok("done")
    });
    let log = Log::default();
    let stack = ServiceBuilder::new()
        .layer(CallLogLayer::new(log.clone()))
        .layer(IsErrorLayer::new())
        .layer(ClassifyLayer::new())
        .load_shed()
        .concurrency_limit(1)
        .into_inner();
    let client = connect(Resilient::with_layer(desk, &stack), ()).await;
    let (first, second) = tokio::join!(
        client.call_tool(call("look")),
        client.call_tool(call("look"))
    );
    let (first, second) = (first.unwrap(), second.unwrap());
    assert_eq!(text(&first), "done");
    assert_eq!(second.is_error, Some(true));
    let told = text(&second);
    assert!(told.starts_with("Error executing tool look: "), "{told}");
    assert_has(&log.all()[0], &json!({"class": "at_capacity"}));
}

#[tokio::test(start_paused = true)]
async fn without_any_layer_a_failure_is_an_error_of_the_protocol() {
    let desk = Desk::new(|_| async { Err(Failure::tool("no such row").into()) });
    let stack = ServiceBuilder::new().into_inner();
    let client = connect(Resilient::with_layer(desk, &stack), ()).await;
    let error = client.call_tool(call("look")).await.unwrap_err();
    let ServiceError::McpError(error) = error else {
        panic!("no JSON-RPC error: {error:?}");
    };
    assert_eq!(error.code.0, -32603);
    assert_eq!(error.message, "no such row");
}

/// An error of the handler, with all details that it may have.
fn own_error() -> ErrorData {
    let data = json!({"deep": [1, {"retryAfter": null}], "n": 18_446_744_073_709_551_615_u64});
    ErrorData::new(ErrorCode(-31_002), "as it is\n", Some(data))
}

/// Fails unless the handler's own error comes through this stack as it is, after one run.
async fn assert_keeps<L>(layer: L)
where
    L: Layer<HandlerService<Desk>>,
    L::Service: Service<ServerCall, Response = ServerAnswer> + Clone + Send + Sync + 'static,
    <L::Service as Service<ServerCall>>::Error: Into<BoxError> + Send,
    <L::Service as Service<ServerCall>>::Future: Send,
{
    let desk = Desk::new(|_| async { Err(own_error()) });
    let attempts = desk.attempts();
    let client = connect(Resilient::with_layer(desk, &layer), ()).await;
    match client.call_tool(call("look")).await {
        Err(ServiceError::McpError(error)) => assert_eq!(error, own_error()),
        other => panic!("no JSON-RPC error: {other:#?}"),
    }
    assert_eq!(attempts.so_far(), [1]);
}

#[tokio::test(start_paused = true)]
async fn without_classify_an_error_of_the_handlers_own_keeps_code_message_and_data() {
    let stack = ServiceBuilder::new;
    let log = Log::default();
    assert_keeps(stack().into_inner()).await;
    assert_keeps(stack().concurrency_limit(1).into_inner()).await;
    let layers = stack().buffer(4).timeout(Duration::from_secs(1));
    let boxed = layer_fn(move |inner| BoxCloneSyncService::new(layers.service(inner)));
    assert_keeps(boxed).await;
    assert_keeps(stack().layer(FatalLayer::new()).into_inner()).await;
    assert_keeps(stack().layer(retry().build().unwrap()).into_inner()).await;
    assert_keeps(stack().layer(CallLogLayer::new(log.clone())).into_inner()).await;
    let whole = stack()
        .layer(CallLogLayer::new(log.clone()))
        .layer(IsErrorLayer::new())
        .layer(FatalLayer::new())
        .layer(retry().build().unwrap());
    assert_keeps(whole.into_inner()).await;
    let lines = log.all();
    assert_eq!(lines.len(), 2);
    for line in lines {
        assert_has(
            &line,
            &json!({"outcome": "failed", "code": -31_002, "is_error": null}),
        );
    }
}

#[tokio::test(start_paused = true)]
async fn a_layer_of_the_user_may_answer_by_itself() {
    let desk = Desk::new(|_| async { panic!("not reached") });
    let answering = layer_fn(|_| {
        let answer = service_fn(async |call: ServerCall| {
            let id = call.context().id.to_string();
            let result = CallToolResult::success(vec![rmcp::model::ContentBlock::text(id)]);
            Ok::<_, BoxError>(ServerAnswer::from(Answer::Tool(result.into())))
        });
        BoxCloneSyncService::new(answer)
    });
    let client = connect(Resilient::with_layer(desk, &answering), ()).await;
    let answer = client.call_tool(call("look")).await.unwrap();
    assert!(!text(&answer).is_empty());
}
