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

    /// What applies to every call, unless a policy [of its tool](Self::policies) says otherwise. What the
    /// policy leaves out stays as it is. The builder's setters of the same names are short for this; the rest
    /// of a [`Policy`] is set by it alone: its own waits, its ceiling, and that there is no deadline, window or
    /// budget.
    ///
    /// The limit of an attempt is for [`timeout`](crate::timeout). Its
    /// [`repeat_ok`](Policy::repeat_ok) comes after that of the [builder](Self::repeat_ok), and before
    /// hints.
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

    /// How often a call is made in all, the first time included.
    pub fn max_attempts(mut self, attempts: u32) -> Self {
        self.policy = self.policy.max_attempts(attempts);
        self
    }

    /// The ceilings of the waits.
    pub fn backoff(mut self, backoff: Backoff) -> Self {
        self.policy = self.policy.backoff(backoff);
        self
    }

    /// How waits are drawn below their ceilings.
    pub fn jitter(mut self, jitter: Jitter) -> Self {
        self.jitter = jitter;
        self
    }

    /// The time after the call's begin in which it may wait and be made again: a wait or an attempt
    /// that does not fit is not begun. An attempt that runs is not cut off by it.
    ///
    /// 55 s by default, since callers hang up at 60 s; with a [deadline](Self::deadline), that.
    pub fn retry_window(mut self, window: Duration) -> Self {
        self.policy.retry_window = Some(Some(window));
        self
    }

    /// The longest that a call may go on in all without an answer or a report of progress, from the
    /// moment it is first waited for: its attempts, the waits between them, and readiness. An
    /// attempt that runs into it is dropped, and the call fails as a
    /// [`Timeout`](crate::Class::Timeout). There is none by default.
    ///
    /// It counts anew from each report of [progress](crate::call::Progress), up to the
    /// [ceiling](Policy::ceiling): a caller that is told of progress does not hang up either.
    pub fn deadline(mut self, deadline: Duration) -> Self {
        self.policy = self.policy.deadline(deadline);
        self
    }

    /// The longest hint of a server that is waited for. A longer one ends the call at once.
    ///
    /// 5 minutes by default, or the retry window if that is shorter.
    pub fn max_retry_after(mut self, longest: Duration) -> Self {
        self.max_retry_after = Some(longest);
        self
    }

    /// How many repeats are paid for, over all clones of the services of this layer: a share of
    /// the calls that succeed (0.2 is 20 %), plus a number a second. Ten seconds' worth of that
    /// number may be spent at once. The [module page](super#the-budget) says how tools share it.
    pub fn budget(mut self, share: f32, per_second: u32) -> Self {
        self.policy = self.policy.budget(share, per_second);
        self.shared_budget = None;
        self
    }

    /// A budget of tower's kind. Shared with other layers, it bounds them together. It knows
    /// nothing of tools.
    pub fn shared_budget<B: TowerBudget + Send + Sync + 'static>(mut self, budget: Arc<B>) -> Self {
        self.policy.budget = None;
        self.shared_budget = Some(SharedBudget::of_tower(budget));
        self
    }

    /// Makes a `retryAfter` that one call got hold for all later calls to the same target: see
    /// [`RetryAfterGate`]. There is none by default.
    pub fn retry_after_gate(mut self, gate: RetryAfterGate) -> Self {
        self.gate = Some(gate);
        self
    }

    /// Takes nobody's word but yours, as one does with a server that one does not trust: neither
    /// the hints of its tools, nor its `retryable: true`, nor that it refused a call before it ran.
    /// Then a call is repeated that was never sent, or of which [`repeat_ok`](Self::repeat_ok) says
    /// so. How long it asks to wait is still heard.
    pub fn distrust_server(mut self) -> Self {
        self.trusts_server = false;
        self
    }

    /// The user's own word on a tool, by its name: `Some(true)`, it may run twice; `Some(false)`,
    /// it may not, whatever its hints say; `None`, as the hints say. A
    /// [policy](crate::policy::Policy::repeat_ok) goes before it.
    ///
    /// A repeat of a call that did not run is nobody's second run, and needs no word. Resources and
    /// prompts are not asked about. A panic in it is the caller's.
    pub fn repeat_ok(
        mut self,
        word: impl Fn(&str) -> Option<bool> + Send + Sync + 'static,
    ) -> Self {
        self.repeat_ok = RepeatOk(Some(Arc::new(word)));
        self
    }

    /// The last word on whether a failed call is repeated: a function that sees the call, the failure and
    /// the verdict of the [gate](super#the-gate), and may override it. It is asked after each failed
    /// attempt but the last.
    ///
    /// | The function says | What happens |
    /// |---|---|
    /// | [`Override::Keep`] | the verdict stays |
    /// | [`Override::Stop`] | the call is not repeated: [`Stopped::Overridden`](crate::failure::Stopped::Overridden) |
    /// | [`Override::RepeatTool`] | the call is repeated, if it is one of the tool of this name and the verdict is [`Verdict::MayHaveRun`] |
    ///
    /// So a repeat can be forced only where waiting may help, and only for a tool that you name. A failure
    /// is [`Verdict::Final`] if its class is one that waiting never helps, such as `Fatal`, `Cancelled` or
    /// `Protocol`, if it says `retryable: false`, or if it was given up before. The server's hint, the
    /// attempts, the window, the deadline and the budget hold for a forced repeat as for any other.
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

    /// What [watches](crate::observe) the layer's decisions, instead of
    /// [`TracingEvents`](crate::observe::TracingEvents).
    pub fn observer(mut self, observer: impl Observer + 'static) -> Self {
        self.observers = Observers::new(observer);
        self
    }

    /// Other settings for some tools. The limits and ceilings of attempts are for
    /// [`timeout`](crate::timeout): give it the same, or give them to the
    /// [preset](crate::preset::ResilienceBuilder::policies).
    pub fn policies(mut self, policies: Policies) -> Self {
        self.policies = policies;
        self
    }

    /// Builds the layer.
    ///
    /// # Errors
    ///
    /// When a setting cannot work; the error says which and why.
    pub fn build(mut self) -> Result<RetryLayer, InvalidPolicy> {
        let layer = self.settings(&Policy::new())?;
        // A layer that is built of this one again shares the budget.
        self.shared_budget.clone_from(&layer.budget);
        let table = self.policies.table(layer, |policy| self.settings(policy))?;
        Ok(RetryLayer {
            table: Arc::new(table),
            builder: Arc::new(self),
        })
    }

    /// The settings of a policy in this layer; of the layer itself for one that says nothing.
    fn settings(&self, policy: &Policy) -> Result<Settings, Problem> {
        // What the layer says is checked as strictly as a policy.
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
