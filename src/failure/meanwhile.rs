//! What comes while an answer is waited for, and is none.
//!
//! A limit drops the future that waits, and with it all that it knows. So a connection leaves here, whenever
//! it is polled in vain, what it would say if it were dropped; a limit around it takes that when it strikes, in
//! the same poll. A service in between that polls the connection in a task of its own takes nothing away but
//! this.

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
pub(crate) fn take() -> Option<Came> {
    CAME.take()
}
