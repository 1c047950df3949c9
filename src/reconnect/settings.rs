use crate::{
    backoff::{Backoff, Jitter},
    observe::Observers,
};
use std::time::Duration;

/// The settings of a layer.
#[derive(Clone, Debug)]
pub(super) struct Settings {
    // None for the default.
    pub(super) dial_timeout: Option<Duration>,
    pub(super) ready_timeout: Duration,
    /// An upper bound for `ready_timeout`, from the caller's retry window. `None` for no bound.
    pub(super) longest_wait_of_a_call: Option<Duration>,
    pub(super) fail_fast_after: Duration,
    pub(super) backoff: Backoff,
    pub(super) jitter: Jitter,
    pub(super) stable_after: Duration,
    pub(super) probe_timeout: Duration,
    pub(super) give_up_limit: Option<u32>,
    pub(super) first_dial_is_fatal: bool,
    pub(super) observers: Observers,
}

/// The default limit of a dial.
const DIAL: Duration = Duration::from_secs(10);

impl Settings {
    pub(super) fn dial_timeout(&self) -> Duration {
        self.dial_timeout.unwrap_or(DIAL)
    }

    pub(super) fn ready_timeout_of_a_call(&self) -> Duration {
        let longest = self.longest_wait_of_a_call;
        longest.map_or(self.ready_timeout, |longest| {
            self.ready_timeout.min(longest)
        })
    }
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            dial_timeout: None,
            ready_timeout: Duration::from_secs(30),
            longest_wait_of_a_call: None,
            fail_fast_after: Duration::from_secs(5),
            backoff: Backoff::default(),
            jitter: Jitter::full(),
            stable_after: Duration::from_secs(30),
            probe_timeout: Duration::from_secs(5),
            give_up_limit: Some(3),
            first_dial_is_fatal: true,
            observers: Observers::default(),
        }
    }
}
