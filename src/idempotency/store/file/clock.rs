use std::time::Duration;
use tokio::time::Instant;

/// Counts the milliseconds for which the file was open, in all processes together.
#[derive(Clone, Debug)]
pub(super) struct Clock {
    before: u64,
    begun: Instant,
}

impl Clock {
    pub(super) fn from(before: u64) -> Self {
        Self {
            before,
            begun: Instant::now(),
        }
    }

    pub(super) fn now_ms(&self) -> u64 {
        self.before.saturating_add(millis(self.begun.elapsed()))
    }
}

pub(super) fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}
