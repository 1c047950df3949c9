use tracing::Span;

/// The span that caused work in a task of its own.
///
/// Known by its ids only: a handle would keep that span open as long as the work lasts.
#[derive(Clone, Debug, Default)]
pub(crate) struct Cause {
    #[cfg(feature = "otel")]
    context: Option<opentelemetry::trace::SpanContext>,
    #[cfg(not(feature = "otel"))]
    id: Option<tracing::Id>,
}

impl Cause {
    /// The current span.
    #[cfg(feature = "otel")]
    pub(crate) fn current() -> Self {
        Self {
            context: super::context::current(),
        }
    }

    /// Makes a span its child.
    #[cfg(feature = "otel")]
    pub(crate) fn adopt(&self, span: &Span) {
        if let Some(context) = &self.context {
            super::context::set_parent(span, context.clone());
        }
    }

    /// The current span.
    #[cfg(not(feature = "otel"))]
    pub(crate) fn current() -> Self {
        Self {
            id: Span::current().id(),
        }
    }

    /// Records that a span follows from it.
    #[cfg(not(feature = "otel"))]
    pub(crate) fn adopt(&self, span: &Span) {
        span.follows_from(self.id.clone());
    }
}
