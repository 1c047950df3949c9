//! The preset around a connector: which failures replace a connection, and which do not.

use super::preset;
use crate::support::{Answer, Call, Lines, Script};
use mcp_resilience::{
    Class, Failure, ResilienceLayer,
    backoff::Jitter,
    call_log::CallLogLayer,
    classify::{ClassifyLayer, Vocabulary},
    failure::{RpcError, Stopped},
    preset::{Connected, Connection},
    reconnect::{ReconnectBuilder, ReconnectHandle, ReconnectLayer},
    retry::RetryLayer,
};
use serde_json::json;
use std::{
    collections::VecDeque,
    io::{Error, ErrorKind},
    sync::{Arc, Mutex},
    time::Duration,
};
use tower::{BoxError, Layer, Service, ServiceBuilder, ServiceExt, service_fn, util::MapErrLayer};

type Step = Result<Answer, BoxError>;

fn fine() -> Answer {
    Answer::ok("fine")
}

fn rpc(code: i32, message: &str, data: Option<serde_json::Value>) -> BoxError {
    RpcError::new(code, message, data).into()
}

fn session_lost() -> Step {
    Err(rpc(-32600, "Session not found", None))
}

fn settings() -> ReconnectBuilder<()> {
    ReconnectLayer::builder(()).jitter(Jitter::none())
}

/// Connects to these, one after the other.
fn connect(
    layer: &ResilienceLayer,
    connections: &[Script],
) -> (Connected<Script>, ReconnectHandle<Connection<Script>>) {
    let left: VecDeque<_> = connections.iter().cloned().collect();
    let left = Arc::new(Mutex::new(left));
    let connector = service_fn(move |()| {
        let next = left.lock().unwrap().pop_front();
        async { Ok::<_, BoxError>(next.expect("a dial too many")) }
    });
    layer.connect(&settings().build().unwrap(), connector)
}

fn calls(connections: &[Script]) -> Vec<usize> {
    let count = |connection: &Script| connection.calls().len();
    connections.iter().map(count).collect()
}

#[tokio::test(start_paused = true)]
async fn an_answer_that_speaks_of_a_timeout_or_a_session_keeps_the_connection() {
    let timeout = || json!({"code": "timeout", "error": "the bank did not answer"});
    let cases: [(&str, Step, &str); 6] = [
        (
            "a flagged result",
            Ok(Answer::envelope(timeout())),
            "timeout",
        ),
        (
            "the same as text",
            Ok(Answer::flagged(&timeout().to_string())),
            "timeout",
        ),
        (
            "a JSON-RPC error",
            Err(rpc(-32000, "late", Some(timeout()))),
            "timeout",
        ),
        (
            "a JSON-RPC error in words",
            Err(rpc(-32001, "Request timed out", None)),
            "protocol",
        ),
        (
            "a status",
            Ok(Answer::envelope(json!({"status": 408}))),
            "timeout",
        ),
        ("a text", Ok(Answer::flagged("Session not found")), "tool"),
    ];
    for (case, step, class) in cases {
        let lines = Lines::default();
        let connections = [Script::new([step, Ok(fine())])];
        let (stack, handle) = connect(&preset(&lines), &connections);
        let _ = stack.clone().oneshot(Call::tool("pay")).await;
        assert_eq!(calls(&connections), [1], "{case}: may have run");
        assert_eq!(lines.only()["class"], class, "{case}");
        assert!(handle.is_connected(), "{case}");
        let next = stack.oneshot(Call::tool("pay")).await;
        assert_eq!(next.unwrap(), fine(), "{case}");
        assert_eq!(handle.generation(), 1, "{case}");
    }
}

#[tokio::test(start_paused = true)]
async fn an_answer_that_speaks_of_a_timeout_is_repeated_on_the_same_connection_if_it_may_be() {
    let timeout = json!({"code": "timeout", "error": "the bank did not answer"});
    let connections = [Script::new([Ok(Answer::envelope(timeout)), Ok(fine())])];
    let (stack, handle) = connect(&preset(&Lines::default()), &connections);
    let answer = stack.oneshot(Call::read_only("get_balance")).await;
    assert_eq!(answer.unwrap(), fine());
    assert_eq!(calls(&connections), [2]);
    assert_eq!(handle.generation(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_connection_that_does_not_answer_in_time_or_breaks_is_replaced() {
    let late = || Script::timed([(Duration::from_secs(6), Ok(fine()))]);
    let reset = || Script::new([Err(Error::from(ErrorKind::ConnectionReset).into())]);
    for (case, first) in [("late", late()), ("reset", reset())] {
        let connections = [first, Script::new([Ok(fine()), Ok(fine())])];
        let (stack, handle) = connect(&preset(&Lines::default()), &connections);
        let answer = stack.clone().oneshot(Call::tool("pay")).await.unwrap();
        assert!(answer.is_error, "{case}: it may have run");
        assert_eq!(calls(&connections), [1, 0], "{case}");
        let next = stack.clone().oneshot(Call::tool("pay")).await;
        assert_eq!(next.unwrap(), fine(), "{case}");
        assert_eq!(handle.generation(), 2, "{case}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_session_that_is_lost_is_renewed_and_a_call_that_may_run_twice_is_repeated_once() {
    for (code, message) in [
        (-32600, "Session not found"),
        (-32600, "Session terminated."),
        (-32001, "Session not found"),
    ] {
        let lines = Lines::default();
        let connections = [
            Script::new([Err(rpc(code, message, None))]),
            Script::new([Ok(fine())]),
        ];
        let (stack, handle) = connect(&preset(&lines), &connections);
        let answer = stack.oneshot(Call::read_only("get_balance")).await;
        assert_eq!(answer.unwrap(), fine(), "{code} {message}");
        assert_eq!(calls(&connections), [1, 1], "{code} {message}");
        assert_eq!(handle.generation(), 2);
        let line = lines.only();
        assert_eq!(line["attempts"], 2);
        assert_eq!(line["retries"][0]["class"], "session_lost");
    }
}

#[tokio::test(start_paused = true)]
async fn a_session_that_is_lost_twice_fails_the_call_after_two_attempts() {
    // The hints would allow a third, and so would the default.
    for call in [Call::read_only("get_balance"), Call::read_only("look")] {
        let lines = Lines::default();
        let connections = [
            Script::new([session_lost()]),
            Script::new([session_lost()]),
            Script::new([Ok(fine())]),
        ];
        let (stack, handle) = connect(&preset(&lines), &connections);
        let failure = stack.clone().oneshot(call.clone()).await.unwrap_err();
        assert_eq!(calls(&connections), [1, 1, 0]);
        assert_eq!(failure.class(), Class::SessionLost);
        assert_eq!(failure.attempts(), 2);
        assert_eq!(failure.stopped(), Some(Stopped::Attempts));
        let told = RpcError::new(-32600, "Session not found", None);
        assert_eq!(failure.rpc_error(), Some(&told), "as the server said it");
        assert_eq!(lines.only()["attempts"], 2);
        // The second was lost too: the next call gets a third.
        assert_eq!(stack.oneshot(call).await.unwrap(), fine());
        assert_eq!(handle.generation(), 3);
    }
}

#[derive(Debug, thiserror::Error)]
#[error("E{0}")]
struct Vendor(u16);

fn knows_vendors(lines: &Lines) -> ResilienceLayer {
    let rule = |error: &Vendor| match error.0 {
        1 => Some(Failure::connection("the wire is cut")),
        2 => Some(Failure::unauthorized("bad token")),
        _ => None,
    };
    ResilienceLayer::builder()
        .log(CallLogLayer::new(lines.clone()))
        .classify(ClassifyLayer::new().rule(rule))
        .retry(RetryLayer::builder().max_attempts(1).build().unwrap())
        .build()
        .unwrap()
}

#[tokio::test(start_paused = true)]
async fn a_connection_is_replaced_for_what_a_rule_makes_of_its_errors() {
    for (number, generation) in [(1, 2), (7, 1)] {
        let first = Script::new([Err(Vendor(number).into()), Ok(fine())]);
        let connections = [first, Script::new([Ok(fine())])];
        let (stack, handle) = connect(&knows_vendors(&Lines::default()), &connections);
        let failed = stack.clone().oneshot(Call::tool("pay")).await;
        assert!(failed.unwrap().is_error, "E{number}");
        stack.oneshot(Call::tool("pay")).await.unwrap();
        assert_eq!(handle.generation(), generation, "E{number}");
    }
}

#[tokio::test(start_paused = true)]
async fn the_connectors_own_errors_are_named_by_the_same_rules() {
    // Both may heal. Credentials that are refused twice are believed to be wrong.
    for (number, class, dials) in [(2, "unauthorized", 2), (7, "connection", 4)] {
        let lines = Lines::default();
        let dialled = Arc::new(Mutex::new(0));
        let counted = Arc::clone(&dialled);
        let connector = service_fn(move |()| {
            *counted.lock().unwrap() += 1;
            async move { Err::<Script, _>(Vendor(number)) }
        });
        let settings = settings()
            .retry_first_dial()
            .ready_timeout(Duration::from_secs(8));
        let settings = settings.build().unwrap();
        let (stack, handle) = knows_vendors(&lines).connect(&settings, connector);
        let answer = stack.oneshot(Call::tool("pay")).await.unwrap();
        assert!(answer.is_error);
        let line = lines.only();
        assert_eq!(
            (&line["class"], &line["delivery"]),
            (&json!(class), &json!("not_sent"))
        );
        assert_eq!(handle.generation(), 0);
        assert_eq!(*dialled.lock().unwrap(), dials, "E{number}");
    }
}

/// The error of a layer that does not unwrap what is inside it.
#[derive(Debug, thiserror::Error)]
#[error("the layer failed")]
struct Wrapped(#[source] Failure);

#[tokio::test(start_paused = true)]
async fn a_protocol_error_passes_a_layer_that_wraps_it() {
    let missing = RpcError::new(-32601, "no such method", None);
    let connection = Script::new([Err(missing.clone().into())]);
    let connector = service_fn(move |()| {
        let connection = connection.clone();
        async { Ok::<_, BoxError>(connection) }
    });
    let resilience = ResilienceLayer::builder()
        .log(CallLogLayer::off())
        .layer_inside(MapErrLayer::new(Wrapped))
        .build()
        .unwrap();
    let (stack, _) = resilience.connect(&settings().build().unwrap(), connector);
    let failure = stack.oneshot(Call::tool("pay")).await.unwrap_err();
    assert_eq!(failure.class(), Class::Protocol);
    assert_eq!(failure.rpc_error(), Some(&missing));
}

#[tokio::test(start_paused = true)]
async fn a_refusal_that_the_users_names_find_outside_the_connection_is_still_the_servers() {
    let refused = || rpc(-32000, "busy", Some(json!({"reason": "rate_limited"})));
    let connection = Script::new([Err(refused()), Ok(fine())]);
    let counted = connection.clone();
    let connector = service_fn(move |()| {
        let connection = ClassifyLayer::new().layer(connection.clone());
        async { Ok::<_, BoxError>(connection) }
    });
    let reconnect = settings().build().unwrap().layer(connector);
    let names = Vocabulary::new().code_field("reason");
    let stack = ServiceBuilder::new()
        .layer(RetryLayer::new())
        .layer(ClassifyLayer::new().vocabulary(names))
        .service(reconnect);
    assert_eq!(stack.oneshot(Call::tool("pay")).await.unwrap(), fine());
    assert_eq!(counted.calls().len(), 2);
}

#[tokio::test(start_paused = true)]
async fn the_handle_ends_it_and_a_call_still_has_its_line() {
    let lines = Lines::default();
    let (mut stack, handle) = connect(&preset(&lines), &[Script::new([Ok(fine())])]);
    handle.connect().await.unwrap();
    handle.shutdown();
    let ready = stack.ready().await.expect("always ready");
    let failure = ready.call(Call::tool("pay")).await.unwrap_err();
    assert_eq!(failure.class(), Class::Cancelled);
    assert_eq!(lines.only()["outcome"], "failed", "its caller waited");
}
