//! What arrives in place of an answer, while the answer is awaited.
//!
//! A limit drops the future that waits, with all that it knows. So whenever a connection is polled
//! and still waits, it leaves here what it would report. The limit around it takes that in the same
//! poll. If a service in between polls the connection in a task of its own, only this report is lost.

use std::{cell::RefCell, error::Error, sync::Arc};

type Came = Arc<dyn Error + Send + Sync>;

thread_local! {
    static CAME: RefCell<Option<Came>> = const { RefCell::new(None) };
}

/// Leaves what came, for a limit around the future that is being polled.
#[cfg(feature = "rmcp-client")]
pub(crate) fn leave(came: Option<Came>) {
    CAME.set(came);
}

/// What was left since this was last asked for on this thread.
#[inline]
pub(crate) fn take() -> Option<Came> {
    CAME.take()
}
