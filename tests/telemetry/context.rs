//! How the context of a trace is read.

use crate::{
    recorded::{Recorded, assert_child, assert_root},
    support::{Answer, Call, Lines, Script},
};
use mcp_resilience::call_log::CallLogLayer;
use opentelemetry::{Context, baggage::BaggageExt, trace::TraceContextExt};
use serde_json::{Value, json};
use tower::{BoxError, Layer, ServiceExt, service_fn};
use tracing::Instrument;

const TRACE: &str = "0af7651916cd43dd8448eb211c80319c";
const PARENT: &str = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";

fn with(meta: &Value) -> Call {
    let mut call = Call::tool("t");
    call.meta.clone_from(meta.as_object().unwrap());
    call
}

async fn made(call: Call) -> (Recorded, Value) {
    let recorded = Recorded::begin();
    let lines = Lines::default();
    let tool = Script::new([Ok(Answer::ok("fine"))]);
    let tools = CallLogLayer::new(lines.clone()).layer(tool);
    tools.oneshot(call).await.unwrap();
    (recorded, lines.only())
}

#[tokio::test]
async fn the_context_of_the_caller_is_the_parent() {
    let meta = json!({"traceparent": PARENT, "tracestate": "rojo=1,congo=2"});
    let (recorded, line) = made(with(&meta)).await;
    let span = recorded.call();
    assert_eq!(span.span_context.trace_id().to_string(), TRACE);
    assert_eq!(span.parent_span_id.to_string(), "b7ad6b7169203331");
    assert!(span.parent_span_is_remote);
    assert_eq!(span.span_context.trace_state().header(), "rojo=1,congo=2");
    assert_eq!(line["trace_id"], TRACE);
    assert_eq!(line["span_id"], span.span_context.span_id().to_string());
}

#[tokio::test]
async fn the_span_around_the_call_becomes_a_link() {
    let recorded = Recorded::begin();
    let tool = Script::new([Ok(Answer::ok("fine"))]);
    let tools = CallLogLayer::new(Lines::default()).layer(tool);
    let call = tools.oneshot(with(&json!({"traceparent": PARENT})));
    let around = tracing::info_span!("http");
    call.instrument(around).await.unwrap();
    let span = recorded.call();
    assert_eq!(span.span_context.trace_id().to_string(), TRACE);
    let spans = recorded.spans();
    let http = spans.iter().find(|span| span.name == "http").unwrap();
    let links: Vec<_> = span.links.iter().map(|link| &link.span_context).collect();
    assert_eq!(links, [&http.span_context]);
}

#[tokio::test]
async fn without_a_context_the_span_around_the_call_is_the_parent() {
    let recorded = Recorded::begin();
    let tool = Script::new([Ok(Answer::ok("fine"))]);
    let tools = CallLogLayer::new(Lines::default()).layer(tool);
    let around = tracing::info_span!("host");
    tools
        .oneshot(with(&json!({})))
        .instrument(around)
        .await
        .unwrap();
    let spans = recorded.spans();
    let host = spans.iter().find(|span| span.name == "host").unwrap();
    assert_child(&recorded.call(), host);
    assert!(recorded.call().links.iter().next().is_none());
}

#[tokio::test]
async fn an_invalid_context_is_ignored_and_fails_no_call() {
    let long = "x".repeat(1 << 20);
    for meta in [
        json!({"traceparent": "nonsense"}),
        json!({"traceparent": PARENT.to_uppercase()}),
        json!({"traceparent": format!("{PARENT}-more")}),
        json!({"traceparent": "00-00000000000000000000000000000000-b7ad6b7169203331-01"}),
        json!({"traceparent": "ff-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"}),
        json!({"traceparent": 7, "tracestate": {}, "baggage": []}),
        json!({"traceparent": long.clone(), "tracestate": long.clone(), "baggage": long.clone()}),
        json!({"tracestate": "rojo=1"}),
    ] {
        let (recorded, line) = made(with(&meta)).await;
        let span = recorded.call();
        assert_root(&span);
        assert!(span.span_context.trace_state().header().is_empty());
        assert_eq!(line["outcome"], "success");
    }
}

#[tokio::test]
async fn a_later_version_and_a_bad_or_long_state_do_not_spoil_the_parent() {
    let later = format!("01-{}-what-ever", &PARENT[3..]);
    for (parent, state) in [
        (later.as_str(), "rojo=1"),
        (PARENT, "no pair"),
        (PARENT, &format!("rojo={}", "x".repeat(1 << 20))),
        (PARENT, "rojo=\u{1b}"),
    ] {
        let meta = json!({"traceparent": parent, "tracestate": state});
        let (recorded, line) = made(with(&meta)).await;
        let span = recorded.call();
        assert_eq!(span.span_context.trace_id().to_string(), TRACE);
        let header = span.span_context.trace_state().header();
        assert_eq!(header, if state == "rojo=1" { state } else { "" });
        assert_eq!(line["trace_id"], TRACE);
    }
}

#[tokio::test]
async fn the_tool_sees_the_baggage_of_its_caller_and_its_own_spans_are_children() {
    let recorded = Recorded::begin();
    let tool = service_fn(async |_: Call| {
        let baggage = Context::current().baggage().get("user").cloned();
        assert_eq!(baggage.unwrap().as_str(), "emma");
        assert!(Context::current().span().span_context().is_valid());
        tracing::info_span!("select").in_scope(|| {});
        Ok::<_, BoxError>(Answer::ok("fine"))
    });
    let tools = CallLogLayer::new(Lines::default()).layer(tool);
    let meta = json!({"traceparent": PARENT, "baggage": "user=emma"});
    tools.oneshot(with(&meta)).await.unwrap();
    let spans = recorded.spans();
    let select = spans.iter().find(|span| span.name == "select").unwrap();
    assert_child(select, &recorded.call());
}
