use super::{Classify, Words, error, rules::Rules};
use crate::{
    call::ToolResult,
    failure::{BoxError, Failure},
};
use std::error::Error;
use tower::Layer;

/// Wraps services in [`Classify`].
///
/// See the [module page](super) for what is read, and in which order.
///
/// ```
/// use mcp_resilience::{Class, Failure, classify::{ClassifyLayer, Words}};
///
/// /// An error of your own.
/// #[derive(Debug, thiserror::Error)]
/// #[error("pool exhausted")]
/// struct PoolExhausted;
///
/// let layer = ClassifyLayer::new()
///     .rule(|_: &PoolExhausted| Some(Failure::at_capacity(None)))
///     .words(Words::new().code("E_BUSY", Class::AtCapacity));
/// # let _ = layer;
/// ```
#[derive(Clone, Debug, Default)]
pub struct ClassifyLayer {
    rules: Rules,
    is_inside: bool,
}

impl ClassifyLayer {
    /// Knows the errors and texts of the [module page](super).
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Teaches it an error type. The rule is asked for every error of that type, also one that is
    /// the source of another; the first rule that answers decides, and the error becomes the
    /// failure's source. What it makes of a JSON-RPC error is still read by your [`Words`](super::Words).
    /// How far the call got is as the rule says, also behind the adapter of an SDK. Give a failure
    /// [`before_running`](Failure::before_running) only if the error can mean nothing else: an error
    /// that may be the source of another may tell that the tool's own call was refused.
    #[must_use]
    pub fn rule<E: Error + 'static>(
        mut self,
        rule: impl Fn(&E) -> Option<Failure> + Send + Sync + 'static,
    ) -> Self {
        self.rules.add_error_rule(rule);
        self
    }

    /// Teaches it what a server calls its codes, fields and waits. Of several, the first is asked
    /// first.
    #[must_use]
    pub fn words(mut self, words: Words) -> Self {
        self.rules.add_words(words);
        self
    }

    /// Teaches it to see a failure in results of one type, flagged or not. A result that is one
    /// is flagged, and goes up inside the failure; so it may be repeated.
    ///
    /// The type is that of the service's answers: behind the adapter of rmcp a `ServerAnswer`, of a client
    /// an `Answer`.
    ///
    /// For servers that forget the flag. Looking into a text for it is guessing: a document may
    /// well speak of an error.
    #[must_use]
    pub fn result_rule<R: ToolResult>(
        mut self,
        rule: impl Fn(&R) -> Option<Failure> + Send + Sync + 'static,
    ) -> Self {
        self.rules.add_result_rule(rule);
        self
    }

    /// The same, for a place inside of another `Classify` in the same stack: for layers between the two,
    /// as a circuit breaker, that have to see failures with a name.
    ///
    /// What the server or the author said of this call stays said for the outer one. So never wrap a
    /// stack in it that a tool calls on through. See [the guide](crate::guide::limits#a-circuit-breaker) for an
    /// example.
    #[must_use]
    pub fn inside(mut self) -> Self {
        self.is_inside = true;
        self
    }
}

impl ClassifyLayer {
    /// Names an error as the layer does, where there is no service around it: of a connector, or of
    /// a task in the background. If a tool returns the failure, its delivery says nothing of the
    /// tool's call, as that of a nested stack.
    #[must_use]
    pub fn name(&self, error: impl Into<BoxError>) -> Failure {
        // The failure may come back as the error of a tool.
        error::classify(error.into(), &self.rules).spent()
    }
}

impl<S> Layer<S> for ClassifyLayer {
    type Service = Classify<S>;

    fn layer(&self, inner: S) -> Self::Service {
        Classify {
            inner,
            rules: self.rules.clone(),
            is_inside: self.is_inside,
        }
    }
}
