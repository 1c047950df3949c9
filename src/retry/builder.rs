use super::{
    RetryLayer,
    budget::SharedBudget,
    policy::{Policy, RepeatOk, Waits},
};
use crate::backoff::{Backoff, Jitter};
use std::{sync::Arc, time::Duration};
use tower::retry::budget::Budget;

/// Settings of a [`RetryLayer`] that are not the [defaults](super#defaults).
#[derive(Debug)]
#[must_use = "settings do nothing until they are built"]
pub struct RetryBuilder {
    policy: Policy,
    budget: BudgetChoice,
}

#[derive(Debug)]
enum BudgetChoice {
    OfCalls { share: f32, per_second: u32 },
    Own(SharedBudget),
    None,
}

impl RetryBuilder {
    pub(super) fn new() -> Self {
        Self {
            policy: Policy {
                max_attempts: 3,
                waits: Waits::Ceilings(Backoff::default()),
                jitter: Jitter::full(),
                deadline: Some(Duration::from_secs(55)),
                max_retry_after: Duration::from_secs(5 * 60),
                budget: None,
                trusts_server: true,
                repeat_ok: RepeatOk::default(),
            },
            budget: BudgetChoice::OfCalls {
                share: 0.2,
                per_second: 1,
            },
        }
    }

    /// How often a call is made in all, the first time included.
    pub fn max_attempts(mut self, attempts: u32) -> Self {
        self.policy.max_attempts = attempts;
        self
    }

    /// The ceilings of the waits.
    pub fn backoff(mut self, backoff: Backoff) -> Self {
        self.policy.waits = Waits::Ceilings(backoff);
        self
    }

    /// The waits themselves, from any iterator; a new one for each call that needs it. They are
    /// taken as they come, without jitter of ours. When it ends, so do the attempts.
    ///
    /// A hint of the server is a floor here too: the wait is the hint, and on top of it a random
    /// part of half the hint or of the iterator's wait, whichever is longer.
    pub fn waits<I>(mut self, make: impl Fn() -> I + Send + Sync + 'static) -> Self
    where
        I: Iterator<Item = Duration> + Send + 'static,
    {
        self.policy.waits = Waits::Own(Arc::new(move || Box::new(make())));
        self
    }

    /// How waits are drawn below their ceilings.
    pub fn jitter(mut self, jitter: Jitter) -> Self {
        self.policy.jitter = jitter;
        self
    }

    /// The longest that a call may take in all, from the moment it is first waited for: its
    /// attempts, the waits between them, and whatever a later attempt waits for below. An attempt that runs
    /// into it is dropped, and the call fails as a [`Timeout`](crate::Class::Timeout).
    pub fn deadline(mut self, deadline: Duration) -> Self {
        self.policy.deadline = Some(deadline);
        self
    }

    /// No deadline: then only what is below ends an attempt.
    pub fn no_deadline(mut self) -> Self {
        self.policy.deadline = None;
        self
    }

    /// The longest hint of a server that is waited for. A longer one ends the call at once.
    pub fn max_retry_after(mut self, longest: Duration) -> Self {
        self.policy.max_retry_after = longest;
        self
    }

    /// How many repeats are paid for, over all clones of the services of this layer: a share of
    /// the calls that succeed (0.2 is 20 %), plus a number a second. Ten seconds' worth of that
    /// number may be spent at once.
    pub fn budget(mut self, share: f32, per_second: u32) -> Self {
        self.budget = BudgetChoice::OfCalls { share, per_second };
        self
    }

    /// A budget of tower's kind. Shared with other layers, it bounds them together.
    pub fn shared_budget<B: Budget + Send + Sync + 'static>(mut self, budget: Arc<B>) -> Self {
        struct Shared<B>(Arc<B>);
        impl<B: Budget> Budget for Shared<B> {
            fn deposit(&self) {
                self.0.deposit();
            }
            fn withdraw(&self) -> bool {
                self.0.withdraw()
            }
        }
        self.budget = BudgetChoice::Own(SharedBudget::new(Shared(budget)));
        self
    }

    /// No budget: in an outage every call is repeated to its last attempt.
    pub fn no_budget(mut self) -> Self {
        self.budget = BudgetChoice::None;
        self
    }

    /// Takes nobody's word but yours, as one does with a server that one does not trust: neither
    /// the hints of its tools, nor its `retryable: true`, nor that it refused a call before it ran.
    /// Then a call is repeated that was never sent, or of which [`repeat_ok`](Self::repeat_ok) says
    /// so. How long it asks to wait is still heard.
    pub fn distrust_server(mut self) -> Self {
        self.policy.trusts_server = false;
        self
    }

    /// The user's own word on a tool, by its name: `Some(true)`, it may run twice; `Some(false)`,
    /// it may not, whatever its hints say; `None`, as the hints say.
    ///
    /// A repeat of a call that did not run is nobody's second run, and needs no word. Resources and
    /// prompts are not asked about. A panic in it is the caller's.
    pub fn repeat_ok(
        mut self,
        word: impl Fn(&str) -> Option<bool> + Send + Sync + 'static,
    ) -> Self {
        self.policy.repeat_ok = RepeatOk(Some(Arc::new(word)));
        self
    }

    /// The layer.
    ///
    /// # Errors
    ///
    /// When a setting cannot work; the error says which and why.
    pub fn build(self) -> Result<RetryLayer, InvalidRetry> {
        let mut policy = self.policy;
        if policy.max_attempts == 0 {
            return Err(InvalidRetry::NoAttempts);
        }
        if policy.deadline.is_some_and(|deadline| deadline.is_zero()) {
            return Err(InvalidRetry::ZeroDeadline);
        }
        policy.budget = match self.budget {
            BudgetChoice::OfCalls { share, per_second } => {
                Some(SharedBudget::of_calls(share, per_second)?)
            }
            BudgetChoice::Own(budget) => Some(budget),
            BudgetChoice::None => None,
        };
        Ok(RetryLayer::with_policy(policy))
    }
}

/// Why a [`RetryLayer`] cannot work.
#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum InvalidRetry {
    /// A call that is made no time.
    #[error("0 attempts: a call is made at least once, and 1 means that it is never repeated")]
    NoAttempts,
    /// No call could ever end well.
    #[error("a deadline of zero: give calls some time, or use `no_deadline`")]
    ZeroDeadline,
    /// The share is no number, negative, or more than the budget can count.
    #[error("a retry budget of {0} of the calls: give a share between 0 and 1, or use `no_budget`")]
    BudgetShare(f32),
}
