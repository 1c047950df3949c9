use super::{Timeout, TimeoutBuilder};
use crate::{
    call::{CallOptions, ToolCall},
    observe::Observers,
    policy::{InvalidPolicy, Limits, Policies, Policy, Table},
};
use std::{sync::Arc, time::Duration};
use tower::Layer;

/// Wraps services in [`Timeout`].
///
/// See the [module page](super) for the rules and the defaults.
///
/// ```
/// use mcp_resilience::timeout::TimeoutLayer;
/// use std::time::Duration;
///
/// let layer = TimeoutLayer::new(Duration::from_secs(30))?;
/// # let _ = layer;
/// # Ok::<_, mcp_resilience::policy::InvalidPolicy>(())
/// ```
#[derive(Clone, Debug)]
pub struct TimeoutLayer {
    pub(super) shared: Arc<Shared>,
}

/// The limits, and the observer.
#[derive(Debug)]
pub(super) struct Shared {
    pub(super) table: Table<Limits>,
    pub(super) observers: Observers,
}

impl Shared {
    /// The same for a call with limits of its own.
    pub(super) fn with(&self, options: &CallOptions, call: &impl ToolCall) -> Arc<Self> {
        let limits = *self.table.at(self.table.find(call));
        Arc::new(Self {
            table: Table::of_call(limits.with(options)),
            observers: self.observers.clone(),
        })
    }
}

impl TimeoutLayer {
    /// Limits each attempt to this time without an answer or progress.
    ///
    /// # Errors
    ///
    /// If the limit is zero.
    pub fn new(limit: Duration) -> Result<Self, InvalidPolicy> {
        TimeoutBuilder::new(limit).build()
    }

    /// Limits each attempt to this time, with other settings.
    pub fn builder(limit: Duration) -> TimeoutBuilder {
        TimeoutBuilder::new(limit)
    }

    /// With the limits that each policy has in a layer with these settings.
    pub(crate) fn with_policies(
        layer: &Policy,
        default_attempt: Option<Duration>,
        policies: &Policies,
        observers: Observers,
    ) -> Result<Self, InvalidPolicy> {
        let limits = Limits::new(layer, &Policy::new(), default_attempt)?;
        let table = policies.table(limits, |policy| Limits::new(policy, layer, default_attempt))?;
        Ok(Self {
            shared: Arc::new(Shared { table, observers }),
        })
    }
}

impl<S> Layer<S> for TimeoutLayer {
    type Service = Timeout<S>;

    fn layer(&self, inner: S) -> Self::Service {
        Timeout {
            inner,
            shared: Arc::clone(&self.shared),
        }
    }
}
