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
    table: Table<Entry>,
    pub(super) observers: Observers,
}

#[derive(Clone, Copy, Debug)]
struct Entry {
    limits: Limits,
    times: Times,
}

/// The limits of one attempt in nanoseconds, since all futures are moved with them.
#[derive(Clone, Copy, Debug)]
pub(super) struct Times {
    // The maximum for none: 584 years.
    limit: u64,
    ceiling: u64,
}

impl Shared {
    /// The limits of a call.
    #[inline]
    pub(super) fn times(&self, call: &impl ToolCall) -> Times {
        let entry = self.table.at(self.table.find(call));
        match call.options() {
            Some(options) => Times::of_call(entry.limits, options),
            None => entry.times,
        }
    }
}

impl Times {
    #[cold]
    fn of_call(limits: Limits, options: &CallOptions) -> Self {
        limits.with(options).into()
    }

    /// The limit without progress, and that with it.
    pub(super) fn get(self) -> Option<(Duration, Duration)> {
        let is_limited = self.limit != u64::MAX;
        let both = [self.limit, self.ceiling].map(Duration::from_nanos);
        is_limited.then_some(both.into())
    }
}

impl From<Limits> for Times {
    fn from(limits: Limits) -> Self {
        let nanos = |time: Duration| u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
        Self {
            limit: limits.attempt.map_or(u64::MAX, nanos),
            ceiling: nanos(limits.ceiling),
        }
    }
}

impl From<Limits> for Entry {
    fn from(limits: Limits) -> Self {
        let times = limits.into();
        Self { limits, times }
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
        let table = policies.table(limits.into(), |policy| {
            Limits::new(policy, layer, default_attempt).map(Entry::from)
        })?;
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
