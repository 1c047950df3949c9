use std::time::Duration;

/// The longest wait for readiness, in whole milliseconds as timers have them. Small, since every call is moved with it.
#[derive(Clone, Copy, Debug)]
pub(super) struct ReadyTimeout(u32);

impl ReadyTimeout {
    /// Rounds up. A longer limit than 49 days is one of 49 days.
    pub(super) fn new(limit: Option<Duration>) -> Self {
        let millis = limit.map(|limit| limit.as_nanos().div_ceil(1_000_000));
        Self(millis.map_or(u32::MAX, |millis| {
            u32::try_from(millis).unwrap_or(u32::MAX).min(u32::MAX - 1)
        }))
    }

    pub(super) fn get(self) -> Option<Duration> {
        (self.0 != u32::MAX).then(|| Duration::from_millis(self.0.into()))
    }
}
