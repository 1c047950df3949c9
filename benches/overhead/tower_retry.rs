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
    budget: Arc<TpsBudget>,
}

impl Attempts {
    pub(crate) fn new() -> Self {
        Self {
            left: 2,
            budget: Arc::default(),
        }
    }
}

impl<Req: Clone, Res, E> Policy<Req, Res, E> for Attempts {
    type Future = Ready<()>;

    fn retry(&mut self, _: &mut Req, result: &mut Result<Res, E>) -> Option<Self::Future> {
        match result {
            Ok(_) => {
                self.budget.deposit();
                None
            }
            Err(_) if self.left > 0 && self.budget.withdraw() => {
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
