use super::{
    RetryAfterGate, RetryLayer,
    budget::SharedBudget,
    settings::{RepeatOk, Settings},
    verdict::{Override, Overrides, Verdict},
};
use crate::{
    backoff::{Backoff, Jitter, Waits},
    call::ToolCall,
    failure::Failure,
    observe::{Observer, Observers},
    policy::{Budget, InvalidPolicy, Limits, Policies, Policy, Problem},
};
use std::{sync::Arc, time::Duration};
use tower::retry::budget::Budget as TowerBudget;

/// Settings of a [`RetryLayer`] that are not the [defaults](super#defaults).
///
/// ```
/// use mcp_resilience::retry::RetryLayer;
/// use std::time::Duration;
///
/// let retry = RetryLayer::builder()
///     .max_attempts(5)
///     .deadline(Duration::from_secs(120))
///     .build()?;
/// # let _ = retry;
/// # Ok::<_, mcp_resilience::policy::InvalidPolicy>(())
/// ```
#[derive(Clone, Debug)]
#[must_use = "settings do nothing until they are built"]
pub struct RetryBuilder {
    pub(super) policy: Policy,
    pub(super) policies: Policies,
    jitter: Jitter,
    max_retry_after: Option<Duration>,
    shared_budget: Option<SharedBudget>,
    trusts_server: bool,
    repeat_ok: RepeatOk,
    overrides: Overrides,
    pub(super) observers: Observers,
    pub(super) gate: Option<RetryAfterGate>,
}

impl RetryBuilder {
    pub(super) fn new() -> Self {
        Self {
            policy: Policy::new(),
            policies: Policies::new(),
            jitter: Jitter::full(),
            max_retry_after: None,
            shared_budget: None,
            trusts_server: true,
            repeat_ok: RepeatOk::default(),
            overrides: Overrides::default(),
            observers: Observers::default(),
            gate: None,
        }
    }

    /// Settings for every call without a policy [of its tool](Self::policies). Settings that the
    /// policy does not have are not changed. The builder's setters of the same names do the same.
    /// Only a [`Policy`] can set its own waits, a ceiling, and no deadline, window or budget.
    ///
    /// The limit of an attempt is for [`timeout`](crate::timeout). Its
    /// [`repeat_ok`](Policy::repeat_ok) comes after that of the [builder](Self::repeat_ok), and
    /// before the hints.
    ///
    /// ```
    /// use mcp_resilience::{policy::Policy, retry::RetryLayer};
    /// use std::time::Duration;
    ///
    /// let careful = Policy::new().max_attempts(2).deadline(Duration::from_secs(30)).no_budget();
    /// let retry = RetryLayer::builder().policy(careful).build()?;
    /// # let _ = retry;
    /// # Ok::<_, mcp_resilience::policy::InvalidPolicy>(())
    /// ```
    pub fn policy(mut self, policy: Policy) -> Self {
        if policy.budget.is_some() {
            self.shared_budget = None;
        }
        self.policy = policy.or(&self.policy);
        self
    }

    /// How many attempts are made in all. Default: 3.
    pub fn max_attempts(mut self, attempts: u32) -> Self {
        self.policy = self.policy.max_attempts(attempts);
        self
    }

    /// The ceilings from which the waits are drawn. Default: 1 s, doubled up to 30 s.
    pub fn backoff(mut self, backoff: Backoff) -> Self {
        self.policy = self.policy.backoff(backoff);
        self
    }

    /// How waits are drawn. Default: full jitter.
    pub fn jitter(mut self, jitter: Jitter) -> Self {
        self.jitter = jitter;
        self
    }

    /// The time after the start of the call in which waits and further attempts may begin. A wait or
    /// an attempt that does not fit is not started. A running attempt is not cut off.
    ///
    /// Default: 55 s, since callers hang up at 60 s; with a [deadline](Self::deadline), that.
    pub fn retry_window(mut self, window: Duration) -> Self {
        self.policy.retry_window = Some(Some(window));
        self
    }

    /// How long a call may go on in all without an answer or a report of progress: its attempts,
    /// its waits, and waiting for readiness. The time counts from the first poll. A running attempt
    /// is dropped at the deadline, and the call fails as a [`Timeout`](crate::Class::Timeout).
    /// Default: none.
    ///
    /// Each report of [progress](crate::call::Progress) starts the time again, up to the
    /// [ceiling](Policy::ceiling), because a caller that sees progress does not hang up.
    pub fn deadline(mut self, deadline: Duration) -> Self {
        self.policy = self.policy.deadline(deadline);
        self
    }

    /// The longest hint of a server to wait for. A longer one ends the call at once. Default: 5
    /// minutes, or the retry window if that is shorter.
    pub fn max_retry_after(mut self, longest: Duration) -> Self {
        self.max_retry_after = Some(longest);
        self
    }

    /// How many repeats all clones of this layer's services may make: a share of the calls that
    /// succeed (0.2 is 20 %), plus a number per second. Up to ten times that number may be spent at
    /// once. The [module page](super#the-budget) says how tools share it. Default: 0.2 and 1.
    pub fn budget(mut self, share: f32, per_second: u32) -> Self {
        self.policy = self.policy.budget(share, per_second);
        self.shared_budget = None;
        self
    }

    /// A budget of tower. Layers that share it are bounded together. It has no shares for tools.
    pub fn shared_budget<B: TowerBudget + Send + Sync + 'static>(mut self, budget: Arc<B>) -> Self {
        self.policy.budget = None;
        self.shared_budget = Some(SharedBudget::of_tower(budget));
        self
    }

    /// Makes the `retryAfter` of one call hold for all later calls to the same target: see
    /// [`RetryAfterGate`]. Default: none.
    pub fn retry_after_gate(mut self, gate: RetryAfterGate) -> Self {
        self.gate = Some(gate);
        self
    }

    /// Ignores all claims of a server that is not trusted: the hints of its tools, its `retryable:
    /// true`, and its refusals of calls before they ran. A call is then repeated only if it was
    /// never sent, or if [`repeat_ok`](Self::repeat_ok) permits it. The server's waits still count.
    pub fn distrust_server(mut self) -> Self {
        self.trusts_server = false;
        self
    }

    /// Sets which tools may run twice, by a function of the tool's name. `Some(true)` permits a
    /// repeat, `Some(false)` forbids it, and `None` leaves it to the hints. A
    /// [policy](crate::policy::Policy::repeat_ok) has precedence.
    ///
    /// A call that did not run may be repeated in any case. The function is not called for resources
    /// and prompts. A panic in it passes to the caller.
    pub fn repeat_ok(
        mut self,
        word: impl Fn(&str) -> Option<bool> + Send + Sync + 'static,
    ) -> Self {
        self.repeat_ok = RepeatOk(Some(Arc::new(word)));
        self
    }

    /// Sets a function that may override whether a failed call is repeated. It gets the call, the
    /// failure and the verdict of the [gate](super#the-gate). It is called after each failed attempt
    /// but the last.
    ///
    /// | The function returns | What happens |
    /// |---|---|
    /// | [`Override::Keep`] | the verdict stays |
    /// | [`Override::Stop`] | the call is not repeated: [`Stopped::Overridden`](crate::failure::Stopped::Overridden) |
    /// | [`Override::RepeatTool`] | the call is repeated, if it is of the tool with this name and the verdict is [`Verdict::MayHaveRun`] |
    ///
    /// So a repeat can be forced only if waiting may help, and only for a tool that you name. These
    /// failures are [`Verdict::Final`]: those of a class that waiting never helps, such as `Fatal`,
    /// `Cancelled` or `Protocol`; those with `retryable: false`; and those that an inner layer gave
    /// up. The server's hint, the attempts, the window, the deadline and the budget apply to a forced
    /// repeat too.
    ///
    /// A panic in the function passes to the caller.
    ///
    /// ```
    /// use mcp_resilience::{Class, retry::{Override, RetryLayer, Verdict}};
    ///
    /// let retry = RetryLayer::builder()
    ///     .override_verdict(|call, failure, verdict| match verdict {
    ///         // Its rate limit is for the whole day.
    ///         Verdict::Repeat if failure.code().is_some_and(|code| code.to_string() == "daily_quota") => Override::Stop,
    ///         // It answers an error before it reserves anything.
    ///         Verdict::MayHaveRun if failure.class() == Class::Upstream => Override::RepeatTool("reserve"),
    ///         _ => Override::Keep,
    ///     })
    ///     .build()?;
    /// # let _ = retry;
    /// # Ok::<_, mcp_resilience::policy::InvalidPolicy>(())
    /// ```
    pub fn override_verdict(
        mut self,
        last_word: impl Fn(&dyn ToolCall, &Failure, Verdict) -> Override + Send + Sync + 'static,
    ) -> Self {
        self.overrides = Overrides::new(last_word);
        self
    }

    /// The [observer](crate::observe) of the layer, in place of
    /// [`TracingEvents`](crate::observe::TracingEvents).
    pub fn observer(mut self, observer: impl Observer + 'static) -> Self {
        self.observers = Observers::new(observer);
        self
    }

    /// Other settings for some tools. Give the same policies to [`timeout`](crate::timeout), which
    /// reads the limits of attempts; or give them to the
    /// [preset](crate::preset::ResilienceBuilder::policies).
    pub fn policies(mut self, policies: Policies) -> Self {
        self.policies = policies;
        self
    }

    /// Builds the layer.
    ///
    /// # Errors
    ///
    /// If a setting cannot work. The error says which and why.
    pub fn build(mut self) -> Result<RetryLayer, InvalidPolicy> {
        let layer = self.settings(&Policy::new())?;
        // Layers that are built from this one share its budget.
        self.shared_budget.clone_from(&layer.budget);
        let table = self.policies.table(layer, |policy| self.settings(policy))?;
        Ok(RetryLayer {
            table: Arc::new(table),
            builder: Arc::new(self),
        })
    }

    /// The settings of a policy in this layer; for an empty policy, those of the layer.
    fn settings(&self, policy: &Policy) -> Result<Settings, Problem> {
        // The layer's own settings are checked as strictly as a policy.
        Limits::new(&self.policy, &Policy::new(), None)?;
        let layer = &self.policy;
        let limits = Limits::new(policy, layer, None)?;
        let waits = policy.waits.as_ref().or(layer.waits.as_ref());
        Ok(Settings {
            limits,
            max_attempts: policy.max_attempts.or(layer.max_attempts).unwrap_or(3),
            waits: waits.map_or_else(|| Waits::Ceilings(Backoff::default()), Waits::clone),
            jitter: self.jitter.clone(),
            max_retry_after: self.max_retry_after,
            budget: match (policy.budget, &self.shared_budget) {
                (Some(own), _) => SharedBudget::new(own),
                (None, Some(budget)) => Some(budget.clone()),
                (None, None) => SharedBudget::new(layer.budget.unwrap_or(Budget::OfCalls {
                    share: 0.2,
                    per_second: 1,
                })),
            },
            trusts_server: self.trusts_server,
            may_run_twice: policy.repeat_ok,
            repeat_ok: self.repeat_ok.clone(),
            else_repeat_ok: layer.repeat_ok,
            overrides: self.overrides.clone(),
            observers: self.observers.clone(),
            gate: self.gate.clone(),
        })
    }
}
