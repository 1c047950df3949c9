use crate::failure::Failure;
use std::sync::Arc;
use tokio::{sync::watch, time::Instant};

/// How a connection stands.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum ConnectionState {
    /// There is none, and nothing is known to be wrong. The next call dials.
    Idle,
    /// A dial is in progress.
    Connecting,
    /// There is one, as far as anybody noticed.
    Connected {
        /// How many connections there have been, including this one.
        generation: u64,
    },
    /// The last dial failed, or the last connection was lost too soon. The next dial is made once it
    /// is due and a call waits for it.
    Failed {
        /// The failure of the last dial, or the loss.
        failure: Arc<Failure>,
        /// When the next dial is due.
        next_dial: Instant,
    },
    /// Nothing is dialled any more, until [`reset`](super::ReconnectHandle::reset) or
    /// [`reconnect`](super::ReconnectHandle::reconnect).
    Down {
        /// What every call fails with.
        failure: Arc<Failure>,
    },
    /// It was shut down, or its service was dropped. Nothing comes after that.
    Closed,
}

impl ConnectionState {
    /// Whether there is a connection.
    #[must_use]
    pub fn is_connected(&self) -> bool {
        matches!(self, Self::Connected { .. })
    }

    /// Whether it was shut down.
    #[must_use]
    pub fn is_closed(&self) -> bool {
        matches!(self, Self::Closed)
    }
}

/// Watches how a connection stands. Made by
/// [`ReconnectHandle::changes`](super::ReconnectHandle::changes).
///
/// States that come and go between two looks may be missed; the newest one never is.
#[derive(Clone, Debug)]
pub struct StateChanges {
    states: watch::Receiver<ConnectionState>,
}

impl StateChanges {
    pub(super) fn new(states: watch::Receiver<ConnectionState>) -> Self {
        Self { states }
    }

    /// Waits for the next change, and returns the newest state. None after
    /// [`Closed`](ConnectionState::Closed).
    ///
    /// Cancel safe: a change that was not returned is returned by the next call.
    pub async fn next(&mut self) -> Option<ConnectionState> {
        let is_over = self.states.borrow().is_closed();
        if is_over && !self.states.has_changed().unwrap_or(false) {
            return None;
        }
        self.states.changed().await.ok()?;
        Some(self.states.borrow_and_update().clone())
    }

    /// Waits until the state is one that `is_wanted` accepts, and returns it. None if it was shut
    /// down first, and that was not accepted.
    pub async fn wait_for(
        &mut self,
        mut is_wanted: impl FnMut(&ConnectionState) -> bool,
    ) -> Option<ConnectionState> {
        let state = self
            .states
            .wait_for(|state| is_wanted(state) || state.is_closed())
            .await
            .ok()?
            .clone();
        is_wanted(&state).then_some(state)
    }
}
