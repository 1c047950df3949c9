//! A panic in a part of rmcp's adapter, or in a layer of the user, is answered, and the server goes on.

use crate::support::{Desk, Log, assert_has, call, connect, ok, preset, settings, text};
use mcp_resilience::{
    Failure,
    call::{ToolCall, ToolResult},
    classify::ClassifyLayer,
    rmcp::{HandlerService, Resilient, ServerAnswer, ServerCall},
};
use rmcp::{
    ErrorData, RoleServer, ServerHandler,
    model::{
        CallToolRequestParams, CallToolResponse, CallToolResult, ServerCapabilities, ServerConfig,
        Tool,
    },
    service::{RequestContext, ServiceError},
};
use serde_json::json;
use std::{future::poll_fn, task::Poll, time::Duration};
use tokio::time::Instant;
use tower::{
    BoxError, Layer, ServiceBuilder, ServiceExt, layer::layer_fn, service_fn,
    util::BoxCloneSyncService,
};

/// The client's answer with nothing but an id.
#[track_caller]
fn assert_says_nothing(answer: Result<CallToolResult, ServiceError>) {
    let Err(ServiceError::McpError(error)) = answer else {
        panic!("no JSON-RPC error: {answer:#?}");
    };
    assert_eq!(error.code.0, -32603);
    let id = error.message.strip_prefix("internal error (call ");
    let id = id.and_then(|id| id.strip_suffix(')'));
    assert!(id.is_some_and(|id| id.len() == 16), "{error:?}");
    assert_eq!(error.data, None);
}

/// A handler whose tables are broken.
struct NoTables;

impl ServerHandler for NoTables {
    fn get_info(&self) -> ServerConfig {
        ServerConfig::new(ServerCapabilities::builder().enable_tools().build())
    }

    fn get_tool(&self, _: &str) -> Option<Tool> {
        panic!("the table has fallen over")
    }

    async fn call_tool(
        &self,
        params: CallToolRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        match &*params.name {
            "lost" => Err(Failure::connection("").into()),
            _ => ok("fine"),
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_panic_of_get_tool_leaves_a_call_without_hints_and_with_an_answer() {
    let log = Log::default();
    let client = connect(Resilient::with_preset(NoTables, &preset(&log)), ()).await;
    assert_eq!(text(&client.call_tool(call("fine")).await.unwrap()), "fine");
    // A tool without hints.
    let answer = client.call_tool(call("lost")).await.unwrap();
    assert!(text(&answer).contains("may have run"), "{answer:#?}");
    let wanted = json!({"attempts": 1, "retry_stopped": "may_have_run"});
    assert_has(&log.all()[1], &wanted);
}

/// Does as the tool's name says.
fn desk() -> Desk {
    Desk::new(|run| async move {
        match &*run.params.name {
            "lost" => Err(Failure::connection("").into()),
            "endless" => {
                let _fragile = Fragile;
                tokio::time::sleep(Duration::from_secs(3600)).await;
                ok("too late")
            }
            _ => ok("fine"),
        }
    })
}

/// Panics when it is dropped.
struct Fragile;

impl Drop for Fragile {
    fn drop(&mut self) {
        panic!("dropped");
    }
}

#[tokio::test(start_paused = true)]
async fn a_panic_of_a_rule_for_results_is_a_crash_of_the_call() {
    let log = Log::default();
    let rules = ClassifyLayer::new()
        .result_rule(|_: &ServerAnswer| -> Option<Failure> { panic!("no rule for results") });
    let preset = settings(&log).classify(rules).build().unwrap();
    let client = connect(Resilient::with_preset(desk(), &preset), ()).await;
    let answer = client.call_tool(call("fine")).await.unwrap();
    let start = "Error executing tool fine (call ";
    assert!(text(&answer).starts_with(start), "{answer:#?}");
    let line = log.only();
    let wanted = json!({"class": "crash", "level": "ERROR", "outcome": "failed"});
    assert_has(&line, &wanted);
    let error = line["error"].as_str().unwrap();
    assert!(error.contains("panicked: no rule for results"), "{error}");
}

#[tokio::test(start_paused = true)]
async fn a_panic_of_a_layer_of_the_user_is_answered() {
    let before = ServiceBuilder::new().map_request(|call: ServerCall| {
        assert_eq!(call.name(), "fine", "not for me");
        call
    });
    let client = connect(Resilient::with_layer(desk(), &before.into_inner()), ()).await;
    assert_says_nothing(client.call_tool(call("lost")).await);
    assert_eq!(text(&client.call_tool(call("fine")).await.unwrap()), "fine");

    let after = ServiceBuilder::new().map_response(|answer: ServerAnswer| {
        assert!(answer.is_error(), "not for me");
        answer
    });
    let client = connect(Resilient::with_layer(desk(), &after.into_inner()), ()).await;
    assert_says_nothing(client.call_tool(call("fine")).await);
}

#[tokio::test(start_paused = true)]
async fn a_panic_in_the_drop_of_a_call_that_is_cancelled_leaves_its_line() {
    let log = Log::default();
    let server = Resilient::with_preset(desk(), &preset(&log));
    let attempts = server.handler().attempts();
    let client = connect(server.clone(), ()).await;
    let peer = client.peer().clone();
    let endless = tokio::spawn(async move { peer.call_tool(call("endless")).await });
    while attempts.so_far().is_empty() {
        tokio::task::yield_now().await;
    }
    // A client that drops its call cancels it.
    endless.abort();
    tokio::time::sleep(Duration::from_secs(1)).await;
    assert_has(
        &log.only(),
        &json!({"tool": "endless", "outcome": "cancelled"}),
    );
    assert_eq!(text(&client.call_tool(call("fine")).await.unwrap()), "fine");
    // The end does not wait for it.
    let begun = Instant::now();
    server.drain(Duration::from_secs(60)).await;
    assert_eq!(begun.elapsed(), Duration::ZERO);
}

/// Holds something fragile until it is dropped, and calls on if it is to.
fn holding(calls_on: bool) -> impl Layer<HandlerService<Desk>, Service = Holding> {
    layer_fn(move |inner: HandlerService<Desk>| {
        let answering = service_fn(move |call: ServerCall| {
            let mut answering = Box::pin(inner.clone().oneshot(call));
            let fragile = Fragile;
            // The captures of this closure are dropped with the future, and not earlier.
            poll_fn(move |cx| {
                let Fragile = &fragile;
                if calls_on {
                    answering.as_mut().poll(cx)
                } else {
                    Poll::Pending
                }
            })
        });
        BoxCloneSyncService::new(answering)
    })
}

type Holding = BoxCloneSyncService<ServerCall, ServerAnswer, BoxError>;

#[tokio::test(start_paused = true)]
async fn a_panic_in_the_drop_of_a_layer_is_answered() {
    let client = connect(Resilient::with_layer(desk(), &holding(true)), ()).await;
    assert_says_nothing(client.call_tool(call("fine")).await);
}

#[tokio::test(start_paused = true)]
async fn a_panic_in_the_drop_of_a_layer_that_is_cut_off_changes_no_answer() {
    let server = Resilient::with_layer(desk(), &holding(false));
    let client = connect(server.clone(), ()).await;
    let end = async {
        tokio::time::sleep(Duration::from_secs(1)).await;
        server.drain(Duration::from_secs(1)).await;
    };
    let (answer, ()) = tokio::join!(client.call_tool(call("fine")), end);
    let Err(ServiceError::McpError(error)) = answer else {
        panic!("no JSON-RPC error: {answer:#?}");
    };
    assert_eq!(
        error,
        ErrorData::internal_error("the server is shutting down", None)
    );
}
