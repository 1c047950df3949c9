use super::shares::Shares;
use crate::policy::Budget;
use std::{
    fmt,
    sync::{
        Arc,
        atomic::{AtomicI64, AtomicU64, Ordering::Relaxed},
    },
};
use tokio::time::Instant;
use tower::retry::budget::Budget as TowerBudget;

/// A budget, shared by all clones of a layer's services.
#[derive(Clone)]
pub(super) enum SharedBudget {
    OfCalls(Arc<CallBudget>),
    OfTower(Arc<dyn TowerBudget + Send + Sync>),
}

impl SharedBudget {
    pub(super) fn new(budget: Budget) -> Option<Self> {
        match budget {
            Budget::OfCalls { share, per_second } => {
                Some(Self::OfCalls(Arc::new(CallBudget::new(share, per_second))))
            }
            Budget::None => None,
        }
    }

    pub(super) fn of_tower<B: TowerBudget + Send + Sync + 'static>(budget: Arc<B>) -> Self {
        Self::OfTower(budget)
    }

    /// A call of this tool succeeded.
    #[inline]
    pub(super) fn deposit(&self, tool: impl FnOnce() -> Option<u64>) {
        match self {
            Self::OfCalls(budget) => budget.deposit(tool),
            Self::OfTower(budget) => budget.deposit(),
        }
    }

    /// How many repeats are left now, if known.
    pub(super) fn left(&self) -> Option<u32> {
        match self {
            Self::OfCalls(budget) => {
                budget.pay_for_time();
                let balance = budget.balance.load(Relaxed).max(0);
                Some(u32::try_from(balance / REPEAT).unwrap_or(u32::MAX))
            }
            Self::OfTower(_) => None,
        }
    }

    /// Takes one repeat for this tool, if the budget has one left.
    pub(super) fn withdraw(&self, tool: u64) -> bool {
        match self {
            Self::OfCalls(budget) => budget.withdraw(tool),
            Self::OfTower(budget) => budget.withdraw(),
        }
    }
}

impl fmt::Debug for SharedBudget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SharedBudget(..)")
    }
}

/// The cost of one repeat; shares are counted in thousandths of it.
pub(super) const REPEAT: i64 = 1_000;

/// How many seconds of the rate per second may be saved up.
const SAVED_SECONDS: i64 = 10;

/// A bucket of repeats, filled by time and by successful calls. Each tool has a share in it.
///
/// tower's `TpsBudget` takes a lock and reads the clock at every success, and counts in whole calls.
/// Here a success changes one atomic number, and only reads it while the bucket is full.
pub(super) struct CallBudget {
    // Negative if tools took their shares from an empty bucket.
    balance: AtomicI64,
    full: i64,
    per_success: i64,
    per_second: i64,
    begun: Instant,
    // Until when time has been paid in, in milliseconds since the start.
    paid_until: AtomicU64,
    shares: Shares,
}

impl CallBudget {
    fn new(share: f32, per_second: u32) -> Self {
        let per_second = i64::from(per_second) * REPEAT;
        let saved = per_second * SAVED_SECONDS;
        let full = saved.max(SAVED_SECONDS * REPEAT);
        Self {
            balance: AtomicI64::new(saved),
            full,
            per_success: thousandths(share),
            per_second,
            begun: Instant::now(),
            paid_until: AtomicU64::new(0),
            shares: Shares::new(saved / 2, full / 2),
        }
    }

    #[inline]
    fn pay_in(&self, amount: i64) {
        let fill = |balance: i64| {
            (balance < self.full).then(|| balance.saturating_add(amount).min(self.full))
        };
        // An error means that the bucket is already full.
        let _ = self.balance.fetch_update(Relaxed, Relaxed, fill);
    }

    fn pay_for_time(&self) {
        let now = u64::try_from(self.begun.elapsed().as_millis()).unwrap_or(u64::MAX);
        let before = self.paid_until.fetch_max(now, Relaxed);
        // Only the thread that changed `paid_until` pays in the time in between.
        let passed = i64::try_from(now.saturating_sub(before)).unwrap_or(i64::MAX);
        self.pay_in(passed.saturating_mul(self.per_second) / 1_000);
    }

    #[inline]
    fn deposit(&self, tool: impl FnOnce() -> Option<u64>) {
        self.pay_in(self.per_success);
        if self.shares.any_is_spent()
            && let Some(tool) = tool()
        {
            self.shares.pay_in(tool, self.per_success);
        }
    }

    /// Takes one repeat from the bucket. If the bucket is empty, a tool may still take its share, and
    /// the balance becomes negative.
    fn withdraw(&self, tool: u64) -> bool {
        self.pay_for_time();
        let is_in_share = self.shares.withdraw(tool);
        let owed = if is_in_share { -self.full } else { 0 };
        let take = |balance: i64| match balance.checked_sub(REPEAT) {
            Some(left) if left >= owed => Some(left),
            _ => is_in_share.then_some(balance),
        };
        self.balance.fetch_update(Relaxed, Relaxed, take).is_ok()
    }
}

#[expect(
    clippy::cast_possible_truncation,
    reason = "a share is between 0 and 1, so that its thousandths are too"
)]
fn thousandths(share: f32) -> i64 {
    (share * 1_000.0).round() as i64
}
