use super::ResilienceLayer;
use crate::{
    always_ready::AlwaysReadyLayer,
    call_log::{CallLogLayer, JsonLines},
    classify::ClassifyLayer,
    fatal::FatalLayer,
    idempotency::{IdempotencyLayer, NoKeys},
    is_error::IsErrorLayer,
    observe::{Observer, Observers},
    policy::{InvalidPolicy, Policies, Policy},
    retry::{RetryAfterGate, RetryLayer},
    timeout::TimeoutLayer,
};
use std::time::Duration;
use tower::layer::util::{Identity, Stack};

/// The default limit of an attempt around a tool: a hang ends, a slow tool works.
const AROUND_A_TOOL: Duration = Duration::from_secs(10 * 60);

/// The default limit of an attempt around a connection, as in the SDKs.
const AROUND_A_CONNECTION: Duration = Duration::from_secs(60);

/// Settings of a [`ResilienceLayer`] that are not the [defaults](super#defaults).
///
/// ```
/// use mcp_resilience::{ResilienceLayer, call_log::{CallLogLayer, JsonLines}, policy::{Policies, Policy}};
/// use std::time::Duration;
///
/// let resilience = ResilienceLayer::builder()
///     .attempt_timeout(Duration::from_secs(30))
///     .policies(Policies::new().tool("pay", Policy::new().max_attempts(1)))
///     .log(CallLogLayer::new(JsonLines::stderr()))
///     .build()?;
/// # let _ = resilience;
/// # Ok::<_, mcp_resilience::policy::InvalidPolicy>(())
/// ```
#[derive(Debug, Default)]
#[must_use = "settings do nothing until they are built"]
pub struct ResilienceBuilder<L = Identity, M = NoKeys> {
    inside: L,
    keys: M,
    log: Option<CallLogLayer>,
    is_error: IsErrorLayer,
    fatal: FatalLayer,
    retry: RetryLayer,
    classify: ClassifyLayer,
    policy: Policy,
    ready_timeout: Option<Duration>,
    policies: Option<Policies>,
    observers: Observers,
    gate: Option<RetryAfterGate>,
}

impl<L, M> ResilienceBuilder<L, M> {
    /// The log. [`CallLogLayer::off`] for none. Default: one line for each call on stderr.
    pub fn log(mut self, layer: CallLogLayer) -> Self {
        self.log = Some(layer);
        self
    }

    /// Runs a call with a key once, and answers its repeats from a store: see
    /// [`idempotency`](crate::idempotency). The result type has to be a
    /// [`StoredResult`](crate::idempotency::StoredResult). Default: keys are ignored.
    pub fn idempotency(self, layer: IdempotencyLayer) -> ResilienceBuilder<L, IdempotencyLayer> {
        self.changed(|inside, _| (inside, layer))
    }

    /// How failures without a flag are found.
    pub fn is_error(mut self, layer: IsErrorLayer) -> Self {
        self.is_error = layer;
        self
    }

    /// The layer that shuts at the first fatal failure. Other stacks of the process may share it.
    pub fn fatal(mut self, layer: FatalLayer) -> Self {
        self.fatal = layer;
        self
    }

    /// How calls are repeated.
    pub fn retry(mut self, layer: RetryLayer) -> Self {
        self.retry = layer;
        self
    }

    /// Makes the `retryAfter` of one call hold for all later calls to the same target, in place of
    /// the gate of the [retry](Self::retry) layer. Default: none.
    ///
    /// ```
    /// use mcp_resilience::{ResilienceLayer, retry::RetryAfterGate};
    ///
    /// let resilience = ResilienceLayer::builder()
    ///     .retry_after_gate(RetryAfterGate::per_tool())
    ///     .build()?;
    /// # let _ = resilience;
    /// # Ok::<_, mcp_resilience::policy::InvalidPolicy>(())
    /// ```
    pub fn retry_after_gate(mut self, gate: RetryAfterGate) -> Self {
        self.gate = Some(gate);
        self
    }

    /// How errors of yours are classified.
    pub fn classify(mut self, layer: ClassifyLayer) -> Self {
        self.classify = layer;
        self
    }

    /// Settings for every call without a policy [of its tool](Self::policies): limits of time,
    /// attempts, waits, budget. Settings that the policy does not have come from the
    /// [retry](Self::retry) layer.
    ///
    /// ```
    /// use mcp_resilience::{ResilienceLayer, policy::Policy};
    /// use std::time::Duration;
    ///
    /// let policy = Policy::new().attempt_timeout(Duration::from_secs(20)).max_attempts(2);
    /// let resilience = ResilienceLayer::builder().policy(policy).build()?;
    /// # let _ = resilience;
    /// # Ok::<_, mcp_resilience::policy::InvalidPolicy>(())
    /// ```
    pub fn policy(mut self, policy: Policy) -> Self {
        self.policy = policy.or(&self.policy);
        self
    }

    /// The longest that one attempt may go on without an answer or a report of progress; see
    /// [`timeout`](crate::timeout). It has to fit into the
    /// [`deadline`](crate::retry::RetryBuilder::deadline) of the [retry](Self::retry) layer. Default:
    /// 10 minutes around a tool, 60 s around a connection.
    pub fn attempt_timeout(mut self, limit: Duration) -> Self {
        self.policy = self.policy.attempt_timeout(limit);
        self
    }

    /// The longest that a call waits for the inner service to be ready. Default: the [retry
    /// window](crate::retry::RetryBuilder::retry_window).
    pub fn ready_timeout(mut self, limit: Duration) -> Self {
        self.ready_timeout = Some(limit);
        self
    }

    /// Other limits, attempts, waits and budgets for some tools. They replace the policies of the
    /// [retry](Self::retry) layer.
    pub fn policies(mut self, policies: Policies) -> Self {
        self.policies = Some(policies);
        self
    }

    /// The [observer](crate::observe) of all layers, in place of
    /// [`TracingEvents`](crate::observe::TracingEvents). A layer with an observer of its own keeps
    /// that one. A [`fatal`](Self::fatal) layer reports to both.
    ///
    /// ```
    /// use mcp_resilience::{
    ///     ResilienceLayer,
    ///     observe::{Event, Observer, TracingEvents},
    /// };
    ///
    /// let resilience = ResilienceLayer::builder()
    ///     .observer(TracingEvents.and(|event: &Event<'_>| eprintln!("{}", event.kind())))
    ///     .build()?;
    /// # let _ = resilience;
    /// # Ok::<_, mcp_resilience::policy::InvalidPolicy>(())
    /// ```
    pub fn observer(mut self, observer: impl Observer + 'static) -> Self {
        self.observers = Observers::new(observer);
        self
    }

    /// Adds a layer right inside `Classify`: a concurrency limit, a circuit breaker, a rate limit. Of
    /// several, the first is the outermost.
    ///
    /// See [a circuit breaker](crate::guide::limits#a-circuit-breaker) for a layer whose error hides the
    /// failure inside.
    ///
    /// Its errors are classified as [`Failure::from`](crate::Failure) reads them, or by a
    /// [rule](ClassifyLayer::rule).
    ///
    /// ```
    /// use mcp_resilience::ResilienceLayer;
    /// use tower::limit::ConcurrencyLimitLayer;
    ///
    /// let resilience = ResilienceLayer::builder()
    ///     .layer_inside(ConcurrencyLimitLayer::new(8))
    ///     .build()?;
    /// # let _ = resilience;
    /// # Ok::<_, mcp_resilience::policy::InvalidPolicy>(())
    /// ```
    pub fn layer_inside<N>(self, layer: N) -> ResilienceBuilder<Stack<N, L>, M> {
        self.changed(|inside, keys| (Stack::new(layer, inside), keys))
    }

    fn changed<L2, M2>(self, change: impl FnOnce(L, M) -> (L2, M2)) -> ResilienceBuilder<L2, M2> {
        let (inside, keys) = change(self.inside, self.keys);
        ResilienceBuilder {
            inside,
            keys,
            log: self.log,
            is_error: self.is_error,
            fatal: self.fatal,
            retry: self.retry,
            classify: self.classify,
            policy: self.policy,
            ready_timeout: self.ready_timeout,
            policies: self.policies,
            observers: self.observers,
            gate: self.gate,
        }
    }

    /// Builds the layer.
    ///
    /// # Errors
    ///
    /// If a setting cannot work, or two contradict each other. The error names them.
    pub fn build(self) -> Result<ResilienceLayer<L, M>, InvalidPolicy> {
        let (policy, own) = self.retry.policies_in_use();
        let policies = self.policies.as_ref().unwrap_or(own);
        let retry =
            self.retry
                .within(&self.policy, policies, &self.observers, self.gate.as_ref())?;
        let settings = self.policy.or(policy);
        let timeout = |limit| {
            // The retry layer reports each limit, and knows the attempt.
            TimeoutLayer::with_policies(&settings, Some(limit), policies, Observers::default())
        };
        let mut ready = AlwaysReadyLayer::new();
        if let Some(ready_timeout) = self.ready_timeout.or(retry.retry_window()) {
            ready = ready.ready_timeout(ready_timeout);
        }
        Ok(ResilienceLayer {
            timeout: timeout(AROUND_A_TOOL)?,
            connection_timeout: timeout(AROUND_A_CONNECTION)?,
            log: self
                .log
                .unwrap_or_else(|| CallLogLayer::new(JsonLines::stderr())),
            is_error: self.is_error.observed_by(&self.observers),
            fatal: self.fatal.observed_by(&self.observers),
            observers: self.observers,
            retry,
            ready,
            classify: self.classify,
            inside: self.inside,
            keys: self.keys,
        })
    }
}
