use super::InvalidRetry;
use std::{
    fmt,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
};
use tokio::time::Instant;
use tower::retry::budget::Budget;

/// A budget, shared by all clones of a layer's services.
#[derive(Clone)]
pub(super) struct SharedBudget(Arc<dyn Budget + Send + Sync>);

impl SharedBudget {
    pub(super) fn new(budget: impl Budget + Send + Sync + 'static) -> Self {
        Self(Arc::new(budget))
    }

    /// A share of the calls that succeed, plus a number a second.
    pub(super) fn of_calls(share: f32, per_second: u32) -> Result<Self, InvalidRetry> {
        Ok(Self::new(CallBudget::new(share, per_second)?))
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

/// What one repeat costs; shares are counted in thousandths of it.
const REPEAT: u64 = 1_000;

/// For how many seconds' worth of the floor repeats may be saved up.
const SAVED_SECONDS: u64 = 10;

/// A bucket of repeats, filled by time and by calls that succeed.
///
/// Not tower's `TpsBudget`, for every success takes that one's lock and reads the clock, and its
/// shares are whole calls for one repeat. Here a success touches one number, and once the bucket
/// is full only looks at it.
struct CallBudget {
    balance: AtomicU64,
    full: u64,
    per_success: u64,
    per_second: u64,
    begun: Instant,
    // Up to when the time is paid out, in milliseconds since it begun.
    paid_until: AtomicU64,
}

impl CallBudget {
    fn new(share: f32, per_second: u32) -> Result<Self, InvalidRetry> {
        if !(0.0..=1.0).contains(&share) {
            return Err(InvalidRetry::BudgetShare(share));
        }
        let per_second = u64::from(per_second) * REPEAT;
        let saved = per_second * SAVED_SECONDS;
        Ok(Self {
            balance: AtomicU64::new(saved),
            full: saved.max(SAVED_SECONDS * REPEAT),
            per_success: thousandths(share),
            per_second,
            begun: Instant::now(),
            paid_until: AtomicU64::new(0),
        })
    }

    fn pay_in(&self, amount: u64) {
        let fill = |balance: u64| {
            (balance < self.full).then(|| balance.saturating_add(amount).min(self.full))
        };
        // An error is a full bucket.
        let _ = self.balance.fetch_update(Relaxed, Relaxed, fill);
    }

    fn pay_for_time(&self) {
        let now = u64::try_from(self.begun.elapsed().as_millis()).unwrap_or(u64::MAX);
        let before = self.paid_until.fetch_max(now, Relaxed);
        // Only who moved the mark pays for what lies between.
        self.pay_in(now.saturating_sub(before).saturating_mul(self.per_second) / 1_000);
    }
}

impl Budget for CallBudget {
    fn deposit(&self) {
        self.pay_in(self.per_success);
    }

    fn withdraw(&self) -> bool {
        self.pay_for_time();
        let take = |balance: u64| balance.checked_sub(REPEAT);
        self.balance.fetch_update(Relaxed, Relaxed, take).is_ok()
    }
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a share is between 0 and 1, so that its thousandths are too"
)]
fn thousandths(share: f32) -> u64 {
    (share * 1_000.0).round() as u64
}
