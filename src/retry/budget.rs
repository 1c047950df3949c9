use super::InvalidRetry;
use std::{fmt, sync::Arc, time::Duration};
use tower::retry::budget::{Budget, TpsBudget};

/// For how long a call that succeeded pays for repeats.
const TTL: Duration = Duration::from_secs(10);

/// A budget, shared by all clones of a layer's services.
#[derive(Clone)]
pub(super) struct SharedBudget(Arc<dyn Budget + Send + Sync>);

impl SharedBudget {
    pub(super) fn new(budget: impl Budget + Send + Sync + 'static) -> Self {
        Self(Arc::new(budget))
    }

    /// A share of the calls that succeed, plus a floor.
    pub(super) fn of_calls(share: f32, per_second: u32) -> Result<Self, InvalidRetry> {
        // TpsBudget counts whole calls for one repeat; any share between 1/2 and 1 would be
        // rounded up to "all of them".
        if !(0.0..=0.5).contains(&share) {
            return Err(InvalidRetry::BudgetShare(share));
        }
        if per_second > 10_000 {
            return Err(InvalidRetry::BudgetFloor(per_second));
        }
        Ok(Self::new(TpsBudget::new(TTL, per_second, share)))
    }

    /// A call succeeded.
    pub(super) fn deposit(&self) {
        self.0.deposit();
    }

    /// Whether one more repeat is paid for.
    pub(super) fn withdraw(&self) -> bool {
        self.0.withdraw()
    }
}

impl fmt::Debug for SharedBudget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SharedBudget(..)")
    }
}
