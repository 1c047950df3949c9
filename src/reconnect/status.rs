use crate::failure::Failure;
use std::sync::Arc;
use tokio::{sync::watch, time::Instant};

/// The state of a connection.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum ConnectionState {
    /// There is no connection, and there was no failure. The next call dials.
    Idle,
    /// A stable connection was lost, or answered no probe. The next call dials at once.
    Lost {
        /// Why: the failure of a call or a probe.
        failure: Arc<Failure>,
    },
    /// A dial is in progress.
    Connecting,
    /// There is a connection. No call or probe has noticed its loss.
    Connected {
        /// How many connections there have been, including this one.
        generation: u64,
    },
    /// The last dial failed, or the last connection was lost too soon. The next dial is made when it
    /// is due and a call waits for it.
    Failed {
        /// The failure of the last dial, or of the lost connection.
        failure: Arc<Failure>,
        /// When the next dial is due.
        next_dial: Instant,
    },
    /// Nothing is dialled until [`reset`](super::ReconnectHandle::reset) or
    /// [`reconnect`](super::ReconnectHandle::reconnect).
    Down {
        /// The failure of every call.
        failure: Arc<Failure>,
    },
    /// The connection was shut down, or its service was dropped. This is final.
    Closed,
}

impl ConnectionState {
    /// Whether there is a connection.
    #[must_use]
    pub fn is_connected(&self) -> bool {
        matches!(self, Self::Connected { .. })
    }

    /// Whether the connection was shut down, or its service was dropped.
    #[must_use]
    pub fn is_closed(&self) -> bool {
        matches!(self, Self::Closed)
    }
}

/// Watches the state of a connection. Made by
/// [`ReconnectHandle::changes`](super::ReconnectHandle::changes).
///
/// May skip states in between, but never the newest.
#[derive(Clone, Debug)]
pub struct StateChanges {
    states: watch::Receiver<ConnectionState>,
}

impl StateChanges {
    pub(super) fn new(states: watch::Receiver<ConnectionState>) -> Self {
        Self { states }
    }

    /// Waits for the next change, and returns the newest state. `None` after
    /// [`Closed`](ConnectionState::Closed).
    ///
    /// Cancel safe: the next call returns a change that was not returned.
    pub async fn next(&mut self) -> Option<ConnectionState> {
        let is_over = self.states.borrow().is_closed();
        if is_over && !self.states.has_changed().unwrap_or(false) {
            return None;
        }
        self.states.changed().await.ok()?;
        Some(self.states.borrow_and_update().clone())
    }

    /// Waits for a state that `is_wanted` accepts, and returns it. `None` if the connection was shut
    /// down first.
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
