use std::time::Duration;
use tokio::time::Instant;

/// A time that never comes.
const A_LIFETIME: Duration = Duration::from_secs(60 * 60 * 24 * 365 * 30);

/// How long one caller waits for a connection.
#[derive(Clone, Copy, Debug)]
pub(in crate::reconnect) struct Ticket {
    pub(in crate::reconnect) until: Instant,
    /// The setting behind `until`, for messages.
    pub(super) patience: Duration,
    /// The caller fails with the dial that has this number among the failed ones.
    pub(super) last_failure: Option<u64>,
}

impl Ticket {
    /// The same, but at most this long.
    pub(in crate::reconnect) fn until(self, end: Option<Instant>) -> Self {
        Self {
            until: end.map_or(self.until, |end| self.until.min(end)),
            ..self
        }
    }

    /// Waits over any number of dials.
    pub(in crate::reconnect) fn patient(now: Instant, patience: Duration) -> Self {
        Self {
            until: later(now, patience),
            patience,
            last_failure: None,
        }
    }
}

/// That much later, or never.
pub(super) fn later(now: Instant, time: Duration) -> Instant {
    now.checked_add(time).unwrap_or(now + A_LIFETIME)
}
