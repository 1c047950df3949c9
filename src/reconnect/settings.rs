use crate::backoff::{Backoff, Jitter};
use std::time::Duration;

/// What a layer was told.
#[derive(Clone, Debug)]
pub(super) struct Settings {
    pub(super) dial_timeout: Duration,
    pub(super) patience: Duration,
    pub(super) backoff: Backoff,
    pub(super) jitter: Jitter,
    pub(super) good_after: Duration,
    pub(super) first_dial_is_fatal: bool,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            dial_timeout: Duration::from_secs(10),
            patience: Duration::from_secs(30),
            backoff: Backoff::default(),
            jitter: Jitter::full(),
            good_after: Duration::from_secs(30),
            first_dial_is_fatal: true,
        }
    }
}
