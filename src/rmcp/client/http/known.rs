use super::HttpError;
use crate::{failure::Failure, rmcp::client::wire::Unread};
use std::sync::{Arc, Mutex, PoisonError, atomic::AtomicBool};

/// What is known of one connection.
#[derive(Clone, Debug)]
pub(super) struct Known {
    /// Whether a request belonged to a session.
    pub(super) has_session: Arc<AtomicBool>,
    /// Whether an answer may come by the standing stream.
    pub(super) may_push: Arc<AtomicBool>,
    pub(super) unread: Unread,
    refused: Arc<Mutex<Option<HttpError>>>,
}

impl Default for Known {
    fn default() -> Self {
        Self {
            has_session: Arc::default(),
            may_push: Arc::new(AtomicBool::new(true)),
            unread: Unread::default(),
            refused: Arc::default(),
        }
    }
}

impl Known {
    /// Keeps why the last message of the handshake failed: rmcp tells that to its own log alone.
    pub(super) fn refused(&self, error: HttpError) {
        *self.refused.lock().unwrap_or_else(PoisonError::into_inner) = Some(error);
    }

    /// The failure of a dial, or what is known better.
    pub(super) fn explain(&self, failure: Failure) -> Failure {
        let refused = self
            .refused
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take();
        match refused {
            Some(error) => error.failure().because(error).not_sent(),
            None => failure,
        }
    }
}
