use crate::backoff::{Backoff, Jitter};
use std::time::Duration;

/// What a layer was told.
#[derive(Clone, Debug)]
pub(super) struct Settings {
    // None for the default.
    pub(super) dial_timeout: Option<Duration>,
    pub(super) patience: Duration,
    pub(super) backoff: Backoff,
    pub(super) jitter: Jitter,
    pub(super) good_after: Duration,
    pub(super) first_dial_is_fatal: bool,
}

/// The longest that a dial takes, unless something else is said.
const DIAL: Duration = Duration::from_secs(10);

impl Settings {
    pub(super) fn dial_timeout(&self) -> Duration {
        self.dial_timeout.unwrap_or(DIAL)
    }
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            dial_timeout: None,
            patience: Duration::from_secs(30),
            backoff: Backoff::default(),
            jitter: Jitter::full(),
            good_after: Duration::from_secs(30),
            first_dial_is_fatal: true,
        }
    }
}
