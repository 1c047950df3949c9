//! Passes errors that arrive while an answer is awaited to the timeout around it.
//!
//! A timeout drops the waiting future, and with it everything the future knows. So a connection that
//! is polled and still waits leaves its report here. The timeout around it takes the report in the
//! same poll. If a service in between polls the connection in another task, only this report is lost.

use std::{cell::RefCell, error::Error, sync::Arc};

type Came = Arc<dyn Error + Send + Sync>;

thread_local! {
    static CAME: RefCell<Option<Came>> = const { RefCell::new(None) };
}

/// Leaves a report for the timeout around the future that is being polled.
#[cfg(feature = "rmcp-client")]
pub(crate) fn leave(came: Option<Came>) {
    CAME.set(came);
}

/// Takes the report that was left on this thread, if there is one.
#[inline]
pub(crate) fn take() -> Option<Came> {
    CAME.take()
}
