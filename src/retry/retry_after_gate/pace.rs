use std::time::Duration;
use tokio::time::Instant;

/// How often the rate doubles without a further hint.
const DOUBLES_EVERY: Duration = Duration::from_secs(5);

/// After this many doublings, the rate is unlimited.
const DOUBLINGS: u64 = 10;

/// The time between two calls, once the server's wait is over.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pace(pub(super) Duration);

impl Pace {
    /// The time between a call that goes out at `at` and the next one, for a target that opened at
    /// `opened`.
    pub(super) fn interval(self, opened: Instant, at: Instant) -> Duration {
        match doublings(opened, at) {
            all if all >= DOUBLINGS => Duration::ZERO,
            some => self.0 / (1 << some),
        }
    }

    /// Whether the rate is unlimited.
    pub(super) fn is_over(self, opened: Instant, at: Instant) -> bool {
        at >= opened && (self.0.is_zero() || doublings(opened, at) >= DOUBLINGS)
    }
}

fn doublings(opened: Instant, at: Instant) -> u64 {
    at.saturating_duration_since(opened).as_secs() / DOUBLES_EVERY.as_secs()
}
