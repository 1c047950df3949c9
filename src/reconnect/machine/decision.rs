//! The decisions of the machine.

use super::phase::{DialId, Generation};
use crate::failure::Failure;
use tokio::time::Instant;

/// The next step of a caller without a connection.
pub(in crate::reconnect) enum Look<C> {
    Use(C, Generation),
    Fail(Failure),
    /// Wait for the next change of the state.
    Wait,
    /// Start the task of this dial, then wait.
    Dial(DialId),
}

/// The next step of the task of a dial.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::reconnect) enum Turn {
    Dial,
    WaitUntil(Instant),
    Stop,
}

/// The result of a dial's end.
pub(in crate::reconnect) struct Ended<C> {
    /// The task goes on with this dial, or stops.
    pub(in crate::reconnect) next: Option<DialId>,
    /// The connection that is in use now.
    pub(in crate::reconnect) connected: Option<Generation>,
    /// A connection or failure that is not needed. To be dropped outside all locks.
    pub(in crate::reconnect) unwanted: Option<Result<C, Failure>>,
}

/// The result of a lost connection.
pub(in crate::reconnect) struct Lost<C> {
    /// Set if the connection was in use until now.
    pub(in crate::reconnect) retired: Option<C>,
    /// Whether repeats of the calls need no wait and no budget: the connection was stable, or the dial
    /// does the waiting.
    pub(in crate::reconnect) is_paced: bool,
}
