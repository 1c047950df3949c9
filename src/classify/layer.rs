use super::{Classify, Vocabulary, error, rules::Rules};
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
/// use mcp_resilience::{Class, Failure, classify::{ClassifyLayer, Vocabulary}};
///
/// /// An error of your own.
/// #[derive(Debug, thiserror::Error)]
/// #[error("pool exhausted")]
/// struct PoolExhausted;
///
/// let layer = ClassifyLayer::new()
///     .rule(|_: &PoolExhausted| Some(Failure::at_capacity(None)))
///     .vocabulary(Vocabulary::new().code("E_BUSY", Class::AtCapacity));
/// # let _ = layer;
/// ```
#[derive(Clone, Debug, Default)]
#[must_use = "a layer does nothing until it wraps a service"]
pub struct ClassifyLayer {
    rules: Rules,
}

impl ClassifyLayer {
    /// Classifies the errors and texts of the [reference](mod@super::reference).
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a rule for an error type. It is called for every error of that type, also if it is the
    /// source of another. The first rule that returns a failure decides, and the error becomes the
    /// failure's source. If it returns the failure of a JSON-RPC error, your [`Vocabulary`](super::Vocabulary)
    /// still apply.
    ///
    /// The delivery is the one that the rule sets, also behind the adapter of an SDK. Use
    /// [`before_running`](Failure::before_running) only if the error can mean nothing else: an error
    /// that is the source of another may say that a request of the tool was refused.
    pub fn rule<E: Error + 'static>(
        mut self,
        rule: impl Fn(&E) -> Option<Failure> + Send + Sync + 'static,
    ) -> Self {
        self.rules.add_error_rule(rule);
        self
    }

    /// Adds names of a server for its codes, fields and waits. Words that were added first are asked
    /// first.
    pub fn vocabulary(mut self, words: Vocabulary) -> Self {
        self.rules.add_vocabulary(words);
        self
    }

    /// Adds a rule that finds failures in results of one type, flagged or not. Such a result is
    /// flagged, and goes up inside the failure, so it may be repeated.
    ///
    /// The type is that of the service's answers: behind the adapter of rmcp a `ServerAnswer`, of a
    /// client an `Answer`.
    ///
    /// For servers that forget the flag. Do not search a text for words: a document may contain the
    /// word "error".
    pub fn result_rule<R: ToolResult>(
        mut self,
        rule: impl Fn(&R) -> Option<Failure> + Send + Sync + 'static,
    ) -> Self {
        self.rules.add_result_rule(rule);
        self
    }

    /// Makes the layer fit for a place inside another `Classify` in the same stack, for layers
    /// between the two that have to see failures with a class, such as a circuit breaker. See [the
    /// guide](crate::guide::limits#a-circuit-breaker) for an example.
    ///
    /// The claims of the server or the author about this call still hold for the outer layer. So
    /// never wrap a stack in it that a tool calls on through.
    pub fn inside(mut self) -> Self {
        self.rules.set_inside();
        self
    }
}

impl ClassifyLayer {
    /// Classifies an error as the layer does, without a service: an error of a connector, or of a
    /// background task. If a tool returns the failure, its delivery does not count for the tool's
    /// call.
    #[must_use]
    pub fn classify(&self, error: impl Into<BoxError>) -> Failure {
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
        }
    }
}
