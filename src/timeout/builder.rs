use super::TimeoutLayer;
use crate::{
    observe::{Observer, Observers},
    policy::{InvalidPolicy, Policies, Policy},
};
use std::time::Duration;

/// Settings of a [`TimeoutLayer`] that are not the [defaults](super#defaults).
///
/// ```
/// use mcp_resilience::{policy::{Policies, Policy}, timeout::TimeoutLayer};
/// use std::time::Duration;
///
/// let layer = TimeoutLayer::builder(Duration::from_secs(30))
///     .ceiling(Duration::from_secs(600))
///     .policies(Policies::new().tool("export", Policy::new().attempt_timeout(Duration::from_secs(300))))
///     .build()?;
/// # let _ = layer;
/// # Ok::<_, mcp_resilience::policy::InvalidPolicy>(())
/// ```
#[derive(Debug)]
#[must_use = "settings do nothing until they are built"]
pub struct TimeoutBuilder {
    settings: Policy,
    policies: Policies,
    observers: Observers,
}

impl TimeoutBuilder {
    pub(super) fn new(limit: Duration) -> Self {
        Self {
            settings: Policy::new().attempt_timeout(limit),
            policies: Policies::new(),
            observers: Observers::default(),
        }
    }

    /// The longest that an attempt may go on with reports of progress.
    pub fn ceiling(mut self, ceiling: Duration) -> Self {
        self.settings = self.settings.ceiling(ceiling);
        self
    }

    /// Other limits and ceilings for some tools. Give the same policies to [`retry`](crate::retry),
    /// which reads the rest of them.
    pub fn policies(mut self, policies: Policies) -> Self {
        self.policies = policies;
        self
    }

    /// What [watches](crate::observe) attempts that run into a limit. You do not need it in the
    /// preset, or under a [`retry`](crate::retry) with an observer: `retry` reports each limit, with
    /// the number of the attempt. If both have an observer, the event comes once.
    pub fn observer(mut self, observer: impl Observer + 'static) -> Self {
        self.observers = Observers::new(observer);
        self
    }

    /// Builds the layer.
    ///
    /// # Errors
    ///
    /// If a setting cannot work. The error says which and why.
    pub fn build(self) -> Result<TimeoutLayer, InvalidPolicy> {
        TimeoutLayer::with_policies(&self.settings, None, &self.policies, self.observers)
    }
}
