use std::time::Duration;
use tokio::time::Instant;

/// Stands for "never": tokio cannot add an unbounded duration.
const FAR_FUTURE: Duration = Duration::from_secs(60 * 60 * 24 * 365 * 30);

/// How long one caller waits for a connection.
#[derive(Clone, Copy, Debug)]
pub(in crate::reconnect) struct Ticket {
    pub(in crate::reconnect) until: Instant,
    /// The setting that `until` comes from, for messages.
    pub(super) ready_timeout: Duration,
    /// The caller fails together with the failed dial of this number.
    pub(super) last_failure: Option<u64>,
}

impl Ticket {
    /// The same for the readiness of a connection that the caller has now. However long the dial
    /// took, at least half of the ready timeout remains.
    pub(in crate::reconnect) fn for_readiness(self, now: Instant) -> Self {
        let half = later(now.min(self.until), self.ready_timeout / 2);
        Self {
            until: self.until.max(half),
            ..self
        }
    }

    /// The same, but at most this long.
    pub(in crate::reconnect) fn until(self, end: Option<Instant>) -> Self {
        Self {
            until: end.map_or(self.until, |end| self.until.min(end)),
            ..self
        }
    }

    /// Waits over any number of dials.
    pub(in crate::reconnect) fn new(now: Instant, ready_timeout: Duration) -> Self {
        Self {
            until: later(now, ready_timeout),
            ready_timeout,
            last_failure: None,
        }
    }
}

/// This much later, or never if that cannot be expressed.
pub(super) fn later(now: Instant, time: Duration) -> Instant {
    now.checked_add(time).unwrap_or(now + FAR_FUTURE)
}
