use super::{Retry, RetryAfterGate, RetryBuilder, settings::Settings};
use crate::{
    observe::Observers,
    policy::{InvalidPolicy, Limits, Policies, Policy, Table},
};
use std::{sync::Arc, time::Duration};
use tower::Layer;

/// Wraps services in [`Retry`].
///
/// All services of one layer, and their clones, share one budget. See the
/// [module page](super) for the rules and the defaults.
///
/// ```
/// use mcp_resilience::{classify::ClassifyLayer, retry::RetryLayer};
/// use tower::ServiceBuilder;
///
/// let layers = ServiceBuilder::new()
///     .layer(RetryLayer::new()) // outside `Classify`: it acts on failures with a class
///     .layer(ClassifyLayer::new());
/// # let _ = layers.service(());
/// ```
#[derive(Clone, Debug)]
pub struct RetryLayer {
    pub(super) table: Arc<Table<Settings>>,
    // The settings, to build the layer again inside a preset.
    pub(super) builder: Arc<RetryBuilder>,
}

impl RetryLayer {
    /// Repeats with the [defaults](super#defaults).
    ///
    /// # Panics
    ///
    /// Never: the defaults are valid.
    #[must_use]
    pub fn new() -> Self {
        RetryBuilder::new()
            .build()
            .expect("the defaults are valid settings")
    }

    /// Repeats with other settings.
    pub fn builder() -> RetryBuilder {
        RetryBuilder::new()
    }

    /// How long a call without progress may take in all. `None` without a limit.
    #[must_use]
    pub fn deadline(&self) -> Option<Duration> {
        self.limits().deadline
    }

    /// How long after its start a call may wait and be repeated. `None` without a limit.
    #[must_use]
    pub fn retry_window(&self) -> Option<Duration> {
        self.limits().retry_window
    }

    fn limits(&self) -> &Limits {
        &self.table.layer().limits
    }

    /// The layer's own policy, and its policies for tools.
    pub(crate) fn policies_in_use(&self) -> (&Policy, &Policies) {
        (&self.builder.policy, &self.builder.policies)
    }

    /// The same layer with the settings of a stack. Keeps its budget, unless they set one.
    pub(crate) fn within(
        &self,
        stack: &Policy,
        policies: &Policies,
        observers: &Observers,
        gate: Option<&RetryAfterGate>,
    ) -> Result<Self, InvalidPolicy> {
        let mut builder = (*self.builder).clone().policy(stack.clone());
        builder.policies = policies.clone();
        builder.observers = builder.observers.or(observers);
        builder.gate = gate.or(builder.gate.as_ref()).cloned();
        builder.build()
    }
}

impl Default for RetryLayer {
    fn default() -> Self {
        Self::new()
    }
}

impl<S> Layer<S> for RetryLayer {
    type Service = Retry<S>;

    fn layer(&self, inner: S) -> Self::Service {
        Retry {
            inner,
            table: Arc::clone(&self.table),
        }
    }
}
