//! The end of a server with a stack of the user.

use super::desk;
use crate::support::{Desk, Log, Raw, assert_has, preset, retry, within};
use mcp_resilience::{
    call_log::CallLogLayer,
    classify::ClassifyLayer,
    fatal::Fatal,
    is_error::IsErrorLayer,
    rmcp::{HandlerService, Resilient, ServerAnswer, ServerCall},
};
use serde_json::json;
use tower::{BoxError, Layer, Service, ServiceBuilder};

/// Fails unless a fatal failure in this stack is answered, and ends the run with its reason.
async fn assert_ends<L>(layer: L)
where
    L: Layer<HandlerService<Desk>>,
    L::Service: Service<ServerCall, Response = ServerAnswer> + Clone + Send + Sync + 'static,
    <L::Service as Service<ServerCall>>::Error: Into<BoxError> + Send,
    <L::Service as Service<ServerCall>>::Future: Send,
{
    let server = Resilient::with_layer(desk(), &layer);
    let handle = server.fatal_handle().clone();
    assert!(handle.cause().is_none());
    let (near, far) = tokio::io::duplex(1 << 16);
    let ending = tokio::spawn(server.run(far));
    let mut client = Raw::over(near);
    client.initialize().await;
    let answer = client.request("tools/call", json!({"name": "fine"})).await;
    assert_eq!(answer["result"]["content"][0]["text"], "fine");
    assert!(!ending.is_finished(), "nothing fatal yet");

    let answer = client.request("tools/call", json!({"name": "fatal"})).await;
    let error = json!({"code": -32603, "message": "the shelf is gone"});
    assert_eq!(answer["error"], error);
    assert_eq!(client.next().await, None, "the transport is closed");
    let outcome = within("the end of `run`", ending).await.unwrap();
    assert_eq!(outcome.unwrap_err().to_string(), "the shelf is gone");
    let cause = handle.cause().map(|cause| cause.to_string());
    assert_eq!(cause.as_deref(), Some("the shelf is gone"));
}

#[tokio::test(start_paused = true)]
async fn a_fatal_failure_of_a_preset_among_other_layers_ends_the_run() {
    let log = Log::default();
    let preset = preset(&log);
    let stack = ServiceBuilder::new().concurrency_limit(8).layer(preset);
    assert_ends(stack.into_inner()).await;
    assert_has(&log.all()[1], &json!({"class": "fatal", "level": "ERROR"}));
}

#[tokio::test(start_paused = true)]
async fn a_fatal_failure_of_a_preset_as_the_layer_ends_the_run() {
    assert_ends(preset(&Log::default())).await;
}

#[tokio::test(start_paused = true)]
async fn a_fatal_failure_of_a_stack_without_a_fatal_layer_ends_the_run() {
    let stack = ServiceBuilder::new()
        .layer(CallLogLayer::new(Log::default()))
        .layer(IsErrorLayer::new())
        .layer(retry().build().unwrap())
        .layer(ClassifyLayer::new());
    assert_ends(stack.into_inner()).await;
}

#[tokio::test(start_paused = true)]
async fn a_fatal_failure_of_a_handler_in_no_stack_at_all_ends_the_run() {
    assert_ends(ServiceBuilder::new().into_inner()).await;
}

#[tokio::test(start_paused = true)]
async fn a_stack_of_the_user_is_shut_from_outside_by_its_handle() {
    let server = Resilient::with_layer(desk(), &ServiceBuilder::new().into_inner());
    let handle = server.fatal_handle().clone();
    let (near, far) = tokio::io::duplex(1 << 16);
    let ending = tokio::spawn(server.run(far));
    handle.shut(Fatal::new("the license has run out"));
    let outcome = within("the end of `run`", ending).await.unwrap();
    assert_eq!(outcome.unwrap_err().to_string(), "the license has run out");
    drop(near);
}
