use opentelemetry::{
    KeyValue, Value,
    trace::{SpanId, Status, TracerProvider},
};
use opentelemetry_sdk::trace::{InMemorySpanExporter, SdkTracerProvider, SpanData};
use tracing::{Dispatch, subscriber::DefaultGuard};
use tracing_subscriber::layer::SubscriberExt;

/// The spans of this thread, as an exporter gets them.
pub(crate) struct Recorded {
    exporter: InMemorySpanExporter,
    provider: SdkTracerProvider,
    _default: DefaultGuard,
    _second: Dispatch,
}

impl Recorded {
    pub(crate) fn begin() -> Self {
        let exporter = InMemorySpanExporter::default();
        let provider = SdkTracerProvider::builder()
            .with_simple_exporter(exporter.clone())
            .build();
        let layer = tracing_opentelemetry::layer()
            .with_error_events_to_status(false)
            .with_tracer(provider.tracer("test"));
        let subscriber = tracing_subscriber::registry().with(layer);
        let default = tracing::subscriber::set_default(subscriber);
        // With a single subscriber, a thread of another test may disable a span's call site for all
        // threads.
        let second = Dispatch::new(tracing_subscriber::registry());
        tracing::callsite::rebuild_interest_cache();
        Self {
            exporter,
            provider,
            _default: default,
            _second: second,
        }
    }

    /// The spans that have ended, in that order.
    pub(crate) fn spans(&self) -> Vec<SpanData> {
        self.provider.force_flush().unwrap();
        self.exporter.get_finished_spans().unwrap()
    }

    /// Those of calls, attempts and dials alone.
    pub(crate) fn ours(&self) -> Vec<SpanData> {
        let mut spans = self.spans();
        spans.retain(|span| is_call(span) || is_attempt(span) || span.name == "dial");
        spans
    }

    /// The only span of a call.
    pub(crate) fn call(&self) -> SpanData {
        let mut calls: Vec<_> = self.spans().into_iter().filter(is_call).collect();
        assert_eq!(calls.len(), 1, "one call: {calls:#?}");
        calls.remove(0)
    }

    pub(crate) fn attempts(&self) -> Vec<SpanData> {
        self.spans().into_iter().filter(is_attempt).collect()
    }
}

fn is_call(span: &SpanData) -> bool {
    attribute(span, "mcp_resilience.call_id").is_some()
}

fn is_attempt(span: &SpanData) -> bool {
    attribute(span, "mcp_resilience.attempt").is_some()
}

pub(crate) fn attribute(span: &SpanData, key: &str) -> Option<Value> {
    let mut found = span.attributes.iter().filter(|kv| kv.key.as_str() == key);
    let value = found.next().map(|KeyValue { value, .. }| value.clone());
    assert!(found.next().is_none(), "`{key}` is there twice");
    value
}

pub(crate) fn text(span: &SpanData, key: &str) -> Option<String> {
    attribute(span, key).map(|value| match value {
        Value::String(text) => text.as_str().to_owned(),
        other => panic!("`{key}` is no text: {other:?}"),
    })
}

pub(crate) fn number(span: &SpanData, key: &str) -> Option<i64> {
    attribute(span, key).map(|value| match value {
        Value::I64(number) => number,
        other => panic!("`{key}` is no number: {other:?}"),
    })
}

#[track_caller]
pub(crate) fn assert_child(child: &SpanData, parent: &SpanData) {
    assert_eq!(child.parent_span_id, parent.span_context.span_id());
    assert_eq!(
        child.span_context.trace_id(),
        parent.span_context.trace_id()
    );
}

#[track_caller]
pub(crate) fn assert_root(span: &SpanData) {
    assert_eq!(span.parent_span_id, SpanId::INVALID);
}

/// A span has the status ERROR exactly if it has an `error.type`.
#[track_caller]
pub(crate) fn assert_status(span: &SpanData, error_type: Option<&str>) {
    assert_eq!(text(span, "error.type").as_deref(), error_type);
    match (&span.status, error_type) {
        (Status::Unset, None) => {}
        (Status::Error { description }, Some(_)) => assert!(!description.is_empty(), "{span:?}"),
        other => panic!("{other:?}"),
    }
}
