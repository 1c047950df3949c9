use super::{ReconnectLayer, settings::Settings};
use crate::backoff::{Backoff, Jitter};
use std::time::Duration;

/// Settings of a [`ReconnectLayer`] that are not the [defaults](super#defaults).
#[derive(Debug)]
#[must_use = "settings do nothing until they are built"]
pub struct ReconnectBuilder<T> {
    target: T,
    settings: Settings,
}

impl<T> ReconnectBuilder<T> {
    pub(super) fn new(target: T) -> Self {
        Self {
            target,
            settings: Settings::default(),
        }
    }

    /// The longest that one dial may take.
    pub fn dial_timeout(mut self, limit: Duration) -> Self {
        self.settings.dial_timeout = Some(limit);
        self
    }

    /// The longest that a call waits for a connection, over any number of dials, and for that to
    /// be ready.
    pub fn patience(mut self, limit: Duration) -> Self {
        self.settings.patience = limit;
        self
    }

    /// The ceilings of the waits between dials that did not last.
    pub fn backoff(mut self, backoff: Backoff) -> Self {
        self.settings.backoff = backoff;
        self
    }

    /// How those waits are drawn.
    pub fn jitter(mut self, jitter: Jitter) -> Self {
        self.settings.jitter = jitter;
        self
    }

    /// How long a connection has to last to be good, if no call was answered on it.
    pub fn good_after(mut self, lasted: Duration) -> Self {
        self.settings.good_after = lasted;
        self
    }

    /// Goes on dialling when the very first dial fails, for a server that may start later than
    /// its client.
    pub fn retry_first_dial(mut self) -> Self {
        self.settings.first_dial_is_fatal = false;
        self
    }

    /// The layer.
    ///
    /// # Errors
    ///
    /// When a setting cannot work; the error says which and why.
    pub fn build(self) -> Result<ReconnectLayer<T>, InvalidReconnect> {
        if self.settings.dial_timeout().is_zero() {
            return Err(InvalidReconnect::ZeroDialTimeout);
        }
        if self.settings.patience.is_zero() {
            return Err(InvalidReconnect::ZeroPatience);
        }
        Ok(ReconnectLayer::with_settings(self.target, self.settings))
    }
}

/// Why a [`ReconnectLayer`] cannot work.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum InvalidReconnect {
    /// No dial could ever succeed.
    #[error("a dial timeout of zero: give a dial some time")]
    ZeroDialTimeout,
    /// No call could ever wait for a connection.
    #[error("a patience of zero: give a call some time to wait for a connection")]
    ZeroPatience,
}
