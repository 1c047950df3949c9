//! The spans of calls, attempts and dials.

use crate::{
    recorded::{Recorded, assert_child, assert_root, assert_status, number, text},
    support::{Answer, Call, Lines, Script},
};
use mcp_resilience::{
    Failure, ResilienceLayer,
    backoff::{Backoff, Jitter},
    call_log::CallLogLayer,
    reconnect::ReconnectLayer,
    retry::RetryLayer,
};
use opentelemetry::trace::{SpanKind, Status};
use serde_json::json;
use std::{
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering::Relaxed},
    },
    time::Duration,
};
use tower::{BoxError, Layer, Service, ServiceExt, service_fn};

fn preset(lines: &Lines) -> ResilienceLayer {
    let backoff = Backoff::new(Duration::from_millis(100), Duration::from_secs(1)).unwrap();
    let retry = RetryLayer::builder()
        .backoff(backoff)
        .jitter(Jitter::none());
    ResilienceLayer::builder()
        .log(CallLogLayer::new(lines.clone()).contents_in_spans())
        .retry(retry.build().unwrap())
        .build()
        .unwrap()
}

#[tokio::test(start_paused = true)]
async fn a_call_and_its_attempts_are_a_tree_with_the_names_of_the_conventions() {
    let recorded = Recorded::begin();
    let lines = Lines::default();
    let mut call =
        Call::read_only("get_author").arguments(json!({"title": "Dune", "token": "s3cr3t-t0k3n"}));
    call.request_id = Some(json!(7));
    call.session_id = Some("s1".to_owned());
    let tool = Script::new([
        Err(Failure::unavailable(None).into()),
        Ok(Answer::ok("Frank Herbert, of s3cr3t-t0k3n")),
    ]);
    preset(&lines).layer(tool).oneshot(call).await.unwrap();

    let (call, attempts) = (recorded.call(), recorded.attempts());
    assert_root(&call);
    assert_eq!(call.name, "tools/call get_author");
    assert_eq!(call.span_kind, SpanKind::Internal);
    assert_status(&call, None);
    for (key, expected) in [
        ("mcp.method.name", "tools/call"),
        ("gen_ai.operation.name", "execute_tool"),
        ("gen_ai.tool.name", "get_author"),
        ("jsonrpc.request.id", "7"),
        ("mcp.session.id", "s1"),
        ("mcp_resilience.outcome", "success"),
        (
            "gen_ai.tool.call.arguments",
            r#"{"title":"Dune","token":"[masked]"}"#,
        ),
        ("gen_ai.tool.call.result", "Frank Herbert, of [masked]"),
    ] {
        assert_eq!(text(&call, key).as_deref(), Some(expected), "{key}");
    }
    assert_eq!(number(&call, "mcp_resilience.attempts"), Some(2));
    assert_eq!(number(&call, "mcp_resilience.waited_ms"), Some(100));
    let line = lines.only();
    assert_eq!(line["trace_id"], call.span_context.trace_id().to_string());
    assert_eq!(line["span_id"], call.span_context.span_id().to_string());
    assert_eq!(
        line["call_id"],
        text(&call, "mcp_resilience.call_id").unwrap()
    );

    assert_eq!(attempts.len(), 2);
    for (attempt, (expected, error)) in attempts.iter().zip([(1, Some("unavailable")), (2, None)]) {
        assert_child(attempt, &call);
        assert_eq!(attempt.name, "attempt tools/call get_author");
        assert_eq!(attempt.span_kind, SpanKind::Internal);
        assert_eq!(number(attempt, "mcp_resilience.attempt"), Some(expected));
        assert_status(attempt, error);
    }
    assert!(attempts[0].end_time <= attempts[1].start_time);
}

#[tokio::test(start_paused = true)]
async fn attempts_behind_a_layer_that_spawns_are_children_of_the_call() {
    let recorded = Recorded::begin();
    let busy = || Err(Failure::unavailable(None).before_running().into());
    let tool = Script::new([busy(), busy(), Ok(Answer::ok("fine"))]);
    let tools = tower::ServiceBuilder::new()
        .layer(CallLogLayer::new(Lines::default()))
        .map_future(|answer| async { tokio::spawn(answer).await.unwrap() })
        .layer(RetryLayer::new())
        .service(tool);
    tools.oneshot(Call::tool("t")).await.unwrap();
    assert_eq!(recorded.attempts().len(), 3);
    for attempt in recorded.attempts() {
        assert_child(&attempt, &recorded.call());
    }
}

#[tokio::test(start_paused = true)]
async fn without_being_asked_no_span_has_arguments_or_a_result() {
    let recorded = Recorded::begin();
    let layer = ResilienceLayer::builder().log(CallLogLayer::new(Lines::default()));
    let tool = Script::new([Ok(Answer::ok("Herbert"))]);
    let call = Call::tool("t").arguments(json!({"title": "Dune"}));
    layer
        .build()
        .unwrap()
        .layer(tool)
        .oneshot(call)
        .await
        .unwrap();
    let spans = format!("{:?}", recorded.spans());
    assert!(
        !spans.contains("Dune") && !spans.contains("Herbert"),
        "{spans}"
    );
}

#[tokio::test(start_paused = true)]
async fn the_status_is_an_error_exactly_for_failures_and_says_why() {
    let rpc = || Failure::protocol(-32004, "no such\u{1b}[2J shelf", None);
    let interim = Answer {
        is_interim: true,
        ..Answer::default()
    };
    let cases: Vec<(Result<Answer, BoxError>, Option<&str>, &str)> = vec![
        (Ok(Answer::ok("fine")), None, ""),
        (Ok(interim), None, ""),
        (
            Ok(Answer::flagged("no such book")),
            Some("tool_error"),
            "no such book",
        ),
        (
            Err(Failure::timeout("late").into()),
            Some("tool_error"),
            "late",
        ),
        (
            Err("boom".into()),
            Some("tool_error"),
            "failed unexpectedly: boom",
        ),
        (Err(rpc().into()), Some("-32004"), "no such\\u{1b}[2J shelf"),
    ];
    for (step, error_type, description) in cases {
        let recorded = Recorded::begin();
        let lines = Lines::default();
        let tool = Script::new([step]);
        let _ = preset(&lines).layer(tool).oneshot(Call::tool("t")).await;
        let call = recorded.call();
        assert_status(&call, error_type);
        if let Status::Error { description: said } = &call.status {
            assert_eq!(said, description);
        }
        let code = error_type.filter(|text| text.starts_with('-'));
        assert_eq!(text(&call, "rpc.response.status_code").as_deref(), code);
    }
}

#[tokio::test(start_paused = true)]
async fn a_call_that_is_dropped_is_no_error_and_its_spans_end() {
    let recorded = Recorded::begin();
    let tool = Script::timed([(Duration::from_secs(60), Ok(Answer::ok("late")))]);
    let call = preset(&Lines::default())
        .layer(tool)
        .oneshot(Call::tool("t"));
    tokio::time::timeout(Duration::from_secs(1), call)
        .await
        .unwrap_err();
    let call = recorded.call();
    assert_status(&call, None);
    assert_eq!(text(&call, "mcp_resilience.outcome").unwrap(), "cancelled");
    assert_eq!(recorded.attempts().len(), 1);
    assert_status(&recorded.attempts()[0], None);
}

#[tokio::test(start_paused = true)]
async fn a_uri_is_not_part_of_a_name_and_control_characters_are_escaped() {
    let recorded = Recorded::begin();
    let stack = preset(&Lines::default());
    let answers = || Script::new([Ok(Answer::ok("x"))]);
    let read = stack.layer(answers());
    read.oneshot(Call::resource("file:///a\nb")).await.unwrap();
    let span = recorded.call();
    assert_eq!(span.name, "resources/read");
    assert_eq!(text(&span, "mcp.resource.uri").unwrap(), "file:///a\\u{a}b");
    assert_eq!(text(&span, "gen_ai.operation.name"), None);

    let recorded = Recorded::begin();
    let mut call = Call::prompt("\u{1b}[31mred\n");
    call.session_id = Some("a\r\nb".to_owned());
    stack.layer(answers()).oneshot(call).await.unwrap();
    let span = recorded.call();
    assert_eq!(span.name, "prompts/get \\u{1b}[31mred\\u{a}");
    assert_eq!(text(&span, "mcp.session.id").unwrap(), "a\\u{d}\\u{a}b");
}

#[tokio::test(start_paused = true)]
async fn dials_are_children_of_the_attempt_that_waits_for_them() {
    let recorded = Recorded::begin();
    let dials = Arc::new(AtomicU32::new(0));
    let connector = service_fn(move |()| {
        let is_first = dials.fetch_add(1, Relaxed) == 0;
        async move {
            if is_first {
                return Err(Failure::connection("refused"));
            }
            Ok(service_fn(async |_: Call| {
                Ok::<_, BoxError>(Answer::ok("fine"))
            }))
        }
    });
    let reconnect = ReconnectLayer::builder(()).retry_first_dial();
    let (stack, _handle) =
        preset(&Lines::default()).connect(&reconnect.build().unwrap(), connector);
    stack.oneshot(Call::tool("quote")).await.unwrap();
    let spans = recorded.ours();
    let dials: Vec<_> = spans.iter().filter(|span| span.name == "dial").collect();
    assert_eq!(dials.len(), 2);
    assert_status(dials[0], Some("connection"));
    assert_status(dials[1], None);
    let attempts = recorded.attempts();
    for dial in &dials {
        assert_child(dial, &attempts[0]);
    }
    assert_eq!(number(dials[1], "mcp_resilience.dial"), Some(2));
}

/// As the task of a connection does that was spawned in the span of its dial.
#[tokio::test(start_paused = true)]
async fn a_dial_ends_when_it_is_connected_and_not_with_its_connection() {
    let recorded = Recorded::begin();
    let connector = service_fn(async |()| {
        tracing::info_span!("handshake").in_scope(|| {});
        let kept = tracing::Span::current();
        Ok::<_, BoxError>(service_fn(move |_: Call| {
            kept.in_scope(|| {});
            async { Ok::<_, BoxError>(Answer::ok("fine")) }
        }))
    });
    let reconnect = ReconnectLayer::new(());
    let (mut stack, _handle) = preset(&Lines::default()).connect(&reconnect, connector);
    let call = stack.ready().await.unwrap().call(Call::tool("quote"));
    call.await.unwrap();
    let spans = recorded.spans();
    let named = |name: &str| spans.iter().find(|span| span.name == name).unwrap();
    let dial = named("dial");
    assert_child(named("handshake"), dial);
    assert!(dial.end_time <= recorded.call().end_time);
}
