use super::{NoProbe, ReconnectLayer, settings::Settings};
use crate::{
    backoff::{Backoff, Jitter},
    observe::{Observer, Observers},
};
use std::time::Duration;

/// Settings of a [`ReconnectLayer`] that are not the [defaults](super#defaults).
///
/// ```
/// use mcp_resilience::reconnect::ReconnectLayer;
/// use std::time::Duration;
///
/// let layer = ReconnectLayer::builder(())
///     .dial_timeout(Duration::from_secs(5))
///     .retry_first_dial()
///     .build()?;
/// # let _ = layer;
/// # Ok::<_, mcp_resilience::reconnect::InvalidReconnect>(())
/// ```
#[derive(Debug)]
#[must_use = "settings do nothing until they are built"]
pub struct ReconnectBuilder<T, P = NoProbe> {
    target: T,
    probe: P,
    settings: Settings,
}

impl<T> ReconnectBuilder<T> {
    pub(super) fn new(target: T) -> Self {
        Self {
            target,
            probe: NoProbe,
            settings: Settings::default(),
        }
    }
}

impl<T, P> ReconnectBuilder<T, P> {
    /// Sets how to ask a connection whether it is alive: a function from a connection to a future, as
    /// [`Probe`](super::Probe) says. Default: none. Then a call that is not answered in time retires
    /// its connection.
    ///
    /// ```
    /// use mcp_resilience::{Failure, reconnect::ReconnectLayer};
    ///
    /// #[derive(Clone)]
    /// struct Connection;
    ///
    /// impl Connection {
    ///     async fn ping(&self) -> Result<(), Failure> {
    ///         Ok(())
    ///     }
    /// }
    ///
    /// let layer = ReconnectLayer::builder(())
    ///     .probe(|connection: Connection| async move { connection.ping().await })
    ///     .build()?;
    /// # let _ = layer;
    /// # Ok::<_, mcp_resilience::reconnect::InvalidReconnect>(())
    /// ```
    pub fn probe<Q>(self, probe: Q) -> ReconnectBuilder<T, Q> {
        ReconnectBuilder {
            target: self.target,
            probe,
            settings: self.settings,
        }
    }

    /// The longest that a probe may take. Default: 5 s.
    pub fn probe_timeout(mut self, limit: Duration) -> Self {
        self.settings.probe_timeout = limit;
        self
    }

    /// After this many calls in a row that are given up, the connection is probed, or retired if it
    /// cannot be probed. An answer to any call starts the count again. A call is given up if it is
    /// dropped after it was sent, or not answered in time. Default: 3.
    pub fn give_up_limit(mut self, calls: u32) -> Self {
        self.settings.give_up_limit = Some(calls.max(1));
        self
    }

    /// Dropped calls do not count against the connection.
    pub fn no_give_up_limit(mut self) -> Self {
        self.settings.give_up_limit = None;
        self
    }

    /// Once an outage is older than this, calls fail fast: a failed dial ends them, and
    /// [`retry`](crate::retry) does not repeat them. It is also the longest that a call which comes
    /// during an outage waits for the next dial to begin. Default: 5 s.
    pub fn fail_fast_after(mut self, time: Duration) -> Self {
        self.settings.fail_fast_after = time;
        self
    }

    /// The longest that one dial may take. Default: 10 s.
    pub fn dial_timeout(mut self, limit: Duration) -> Self {
        self.settings.dial_timeout = Some(limit);
        self
    }

    /// The longest that a call waits for a connection, over any number of dials. A call that comes
    /// after a failed dial waits for one dial at most; see
    /// [`fail_fast_after`](Self::fail_fast_after). Default: 30 s.
    ///
    /// The same time limits the wait for the connection to be ready. After a dial, at least half of it
    /// is left for that, so a call waits for at most one and a half times this limit. The time in
    /// which a repeated call may begin ends the wait earlier.
    ///
    /// In the [preset](crate::preset), this limit is at most half of the retry window, even if more is
    /// set here. [`ReconnectHandle::connect`](super::ReconnectHandle::connect) and
    /// [`reconnect`](super::ReconnectHandle::reconnect) wait for all of this time, and for at least one
    /// dial.
    pub fn ready_timeout(mut self, limit: Duration) -> Self {
        self.settings.ready_timeout = limit;
        self
    }

    /// The ceilings of the waits between dials. Default: 1 s, doubled up to 30 s.
    pub fn backoff(mut self, backoff: Backoff) -> Self {
        self.settings.backoff = backoff;
        self
    }

    /// How those waits are drawn. Default: full jitter, at least 10 ms.
    pub fn jitter(mut self, jitter: Jitter) -> Self {
        self.settings.jitter = jitter;
        self
    }

    /// How long a connection has to last to be good without answers to calls. Default: 30 s.
    pub fn stable_after(mut self, lasted: Duration) -> Self {
        self.settings.stable_after = lasted;
        self
    }

    /// Keeps dialling if the very first dial fails, for a server that may start later than its
    /// client. Default: off, so the first dial that fails is [`Fatal`](crate::Class::Fatal).
    pub fn retry_first_dial(mut self) -> Self {
        self.settings.first_dial_is_fatal = false;
        self
    }

    /// The [observer](crate::observe) of the layer, in place of
    /// [`TracingEvents`](crate::observe::TracingEvents).
    pub fn observer(mut self, observer: impl Observer + 'static) -> Self {
        self.settings.observers = Observers::new(observer);
        self
    }

    /// Builds the layer.
    ///
    /// # Errors
    ///
    /// If a setting cannot work. The error says which and why.
    pub fn build(self) -> Result<ReconnectLayer<T, P>, InvalidReconnect> {
        if self.settings.dial_timeout().is_zero() {
            return Err(InvalidReconnect::ZeroDialTimeout);
        }
        if self.settings.ready_timeout.is_zero() {
            return Err(InvalidReconnect::ZeroReadyTimeout);
        }
        if self.settings.probe_timeout.is_zero() {
            return Err(InvalidReconnect::ZeroProbeTimeout);
        }
        Ok(ReconnectLayer::with_settings(
            self.target,
            self.probe,
            self.settings,
        ))
    }
}

/// Why a [`ReconnectLayer`] cannot work.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum InvalidReconnect {
    /// No dial could succeed.
    #[error("a dial timeout of zero: give a dial some time")]
    ZeroDialTimeout,
    /// No call could wait for a connection.
    #[error("`ready_timeout` is zero: give a call some time to wait for a connection")]
    ZeroReadyTimeout,
    /// No probe could be answered.
    #[error("a probe timeout of zero: give a probe some time")]
    ZeroProbeTimeout,
}
