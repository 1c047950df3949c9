//! Reads and writes the context of a trace.

#[cfg(feature = "otel")]
pub use self::otel::inject;
#[cfg(feature = "otel")]
pub(crate) use self::otel::{adopt, ids, set};
#[cfg(feature = "otel")]
pub(super) use self::otel::{below, current, set_parent};
#[cfg(not(feature = "otel"))]
pub(super) use self::without::below;
#[cfg(not(feature = "otel"))]
pub(crate) use self::without::{adopt, ids, set};

#[cfg(feature = "otel")]
mod otel {
    use crate::{call::Side, telemetry::TraceParent};
    use opentelemetry::{
        Context, SpanId, TraceFlags, TraceId,
        baggage::BaggageExt as _,
        propagation::{Extractor, Injector, TextMapPropagator as _},
        trace::{SpanContext, TraceContextExt as _, TraceState},
    };
    use opentelemetry_sdk::propagation::{BaggagePropagator, TraceContextPropagator};
    use serde_json::{Map, Value};
    use std::{future::poll_fn, pin::pin};
    use tracing::Span;
    use tracing_opentelemetry::OpenTelemetrySpanExt as _;

    /// How much of a `tracestate` or a `baggage` is read. The W3C requires at least 512 and 8192
    /// bytes.
    const LIMIT: usize = 8 * 1024;

    /// Gives the span of a call its parent: see the module page.
    pub(crate) fn adopt(span: &Span, side: Side, meta: Option<&Map<String, Value>>) {
        if span.is_disabled() {
            return;
        }
        let ambient = Context::current();
        let ambient_span = ambient.span().span_context().clone();
        let Some(meta) = meta else {
            return;
        };
        if side == Side::Client && ambient_span.is_valid() {
            return;
        }
        let with_baggage = match text(meta, "baggage") {
            Some(_) => BaggagePropagator::new().extract_with_context(&ambient, &Meta(meta)),
            None => ambient.clone(),
        };
        let Some(parent) = remote(meta) else {
            if with_baggage.baggage().len() != ambient.baggage().len() {
                let _ = span.set_parent(with_baggage);
            }
            return;
        };
        // Without `tracing-opentelemetry` there is no trace.
        let _ = span.set_parent(with_baggage.with_remote_span_context(parent));
        if ambient_span.is_valid() {
            span.add_link(ambient_span);
        }
    }

    /// Sets an attribute of the span for OpenTelemetry alone.
    pub(crate) fn set(span: &Span, key: &'static str, value: impl Into<opentelemetry::Value>) {
        span.set_attribute(key, value);
    }

    /// The ids of trace and span: those of this span, else those of the span around it.
    pub(crate) fn ids(span: &Span) -> Option<(String, String)> {
        let own = span.context();
        let context = own.span().span_context().clone();
        let context = if context.is_valid() {
            context
        } else {
            Context::current().span().span_context().clone()
        };
        let ids = || {
            (
                context.trace_id().to_string(),
                context.span_id().to_string(),
            )
        };
        context.is_valid().then(ids)
    }

    /// The context of the current span.
    pub(in crate::telemetry) fn current() -> Option<SpanContext> {
        let context = context_of_current();
        let context = context.span().span_context().clone();
        context.is_valid().then_some(context)
    }

    pub(in crate::telemetry) fn set_parent(span: &Span, parent: SpanContext) {
        let _ = span.set_parent(Context::new().with_remote_span_context(parent));
    }

    /// Runs a future in the context of a span, without a handle to the span.
    pub(in crate::telemetry) async fn below<F: Future>(span: &Span, future: F) -> F::Output {
        let parent = span.context().span().span_context().clone();
        let context = Context::new().with_remote_span_context(parent);
        let mut future = pin!(future);
        poll_fn(|cx| {
            let _attached = context.clone().attach();
            future.as_mut().poll(cx)
        })
        .await
    }

    fn context_of_current() -> Context {
        let own = Span::current().context();
        if own.span().span_context().is_valid() {
            own
        } else {
            Context::current()
        }
    }

    /// Writes the context of the current span into a request's `_meta`: `traceparent`, and
    /// `tracestate` and `baggage` if there are any. Without a span, `_meta` is not changed.
    ///
    /// A `Client` does this for each attempt. Use it for connectors and requests of your own.
    pub fn inject(meta: &mut Map<String, Value>) {
        let context = context_of_current();
        if !context.span().span_context().is_valid() {
            return;
        }
        // A state of another parent would be wrong here.
        meta.remove("tracestate");
        TraceContextPropagator::new().inject_context(&context, &mut MetaMut(meta));
        if !context.baggage().is_empty() {
            BaggagePropagator::new().inject_context(&context, &mut MetaMut(meta));
        }
    }

    fn remote(meta: &Map<String, Value>) -> Option<SpanContext> {
        let parent = TraceParent::parse(meta.get("traceparent")?.as_str()?)?;
        let flags = TraceFlags::default().with_sampled(parent.is_sampled);
        // An invalid state does not invalidate the parent.
        let is_readable = |text: &&str| text.bytes().all(|b| matches!(b, b'\t' | b' '..=b'~'));
        let state = text(meta, "tracestate").filter(is_readable);
        let state = state.and_then(|state| state.parse::<TraceState>().ok());
        Some(SpanContext::new(
            TraceId::from_hex(parent.trace_id).ok()?,
            SpanId::from_hex(parent.span_id).ok()?,
            flags,
            true,
            state.unwrap_or_default(),
        ))
    }

    fn text<'a>(meta: &'a Map<String, Value>, key: &str) -> Option<&'a str> {
        meta.get(key)?.as_str().filter(|text| text.len() <= LIMIT)
    }

    struct Meta<'a>(&'a Map<String, Value>);

    impl Extractor for Meta<'_> {
        fn get(&self, key: &str) -> Option<&str> {
            text(self.0, key)
        }

        fn keys(&self) -> Vec<&str> {
            self.0.keys().map(String::as_str).collect()
        }
    }

    struct MetaMut<'a>(&'a mut Map<String, Value>);

    impl Injector for MetaMut<'_> {
        fn set(&mut self, key: &str, value: String) {
            if !value.is_empty() {
                self.0.insert(key.to_owned(), value.into());
            }
        }
    }
}

#[cfg(not(feature = "otel"))]
mod without {
    use crate::call::Side;
    use serde_json::{Map, Value};
    use tracing::Span;

    pub(crate) fn adopt(_: &Span, _: Side, _: Option<&Map<String, Value>>) {}

    pub(crate) fn set<T>(_: &Span, _: &'static str, _: T) {}

    pub(crate) fn ids(_: &Span) -> Option<(String, String)> {
        None
    }

    pub(in crate::telemetry) async fn below<F: Future>(_: &Span, future: F) -> F::Output {
        future.await
    }
}
