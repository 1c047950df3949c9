use std::{
    future::{Ready, ready},
    sync::Arc,
};
use tower::retry::{
    Policy,
    budget::{Budget, TpsBudget},
};

/// The policy of tower's own documentation: a number of attempts and a budget.
#[derive(Clone, Debug)]
pub(crate) struct Attempts {
    left: usize,
    budget: Option<Arc<TpsBudget>>,
}

impl Attempts {
    pub(crate) fn new() -> Self {
        Self {
            left: 2,
            budget: Some(Arc::default()),
        }
    }

    /// For a service that fails more often than a budget pays for.
    #[allow(dead_code, reason = "not every benchmark repeats calls")]
    pub(crate) fn without_budget() -> Self {
        Self {
            budget: None,
            ..Self::new()
        }
    }

    fn deposit(&self) {
        if let Some(budget) = &self.budget {
            budget.deposit();
        }
    }

    fn withdraw(&self) -> bool {
        self.budget.as_ref().is_none_or(|budget| budget.withdraw())
    }
}

impl<Req: Clone, Res, E> Policy<Req, Res, E> for Attempts {
    type Future = Ready<()>;

    fn retry(&mut self, _: &mut Req, result: &mut Result<Res, E>) -> Option<Self::Future> {
        match result {
            Ok(_) => {
                self.deposit();
                None
            }
            Err(_) if self.left > 0 && self.withdraw() => {
                self.left -= 1;
                Some(ready(()))
            }
            Err(_) => None,
        }
    }

    fn clone_request(&mut self, call: &Req) -> Option<Req> {
        Some(call.clone())
    }
}
