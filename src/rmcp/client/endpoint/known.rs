use super::HttpError;
use crate::{
    failure::Failure,
    lock::Mutex,
    rmcp::client::{opening::Opening, progress::Incoming, wire::Unread},
};
use std::sync::{Arc, OnceLock, atomic::AtomicBool};

/// What is known about one connection.
#[derive(Clone, Debug)]
pub(in crate::rmcp::client) struct Known {
    /// The id of the session, once a request belonged to one.
    pub(in crate::rmcp::client) session: Arc<OnceLock<Arc<str>>>,
    /// Whether an answer may come by the standing stream.
    pub(in crate::rmcp::client) may_push: Arc<AtomicBool>,
    pub(in crate::rmcp::client) unread: Unread,
    pub(in crate::rmcp::client) incoming: Incoming,
    refused: Arc<Mutex<Option<HttpError>>>,
    pub(in crate::rmcp::client) opening: Opening,
}

impl Known {
    pub(in crate::rmcp::client) fn new(opening: Opening) -> Self {
        Self {
            session: Arc::default(),
            may_push: Arc::new(AtomicBool::new(true)),
            unread: Unread::default(),
            incoming: Incoming::default(),
            refused: Arc::default(),
            opening,
        }
    }

    /// Keeps why the last message of the handshake failed: rmcp only logs that.
    pub(in crate::rmcp::client) fn refused(&self, error: HttpError) {
        *self.refused.lock() = Some(error);
    }

    /// The failure of a dial, or a better reason.
    pub(in crate::rmcp::client) fn explain(&self, failure: Failure) -> Failure {
        let refused = self.refused.lock().take();
        match refused {
            Some(error) => error.failure().because(error).not_sent(),
            None => failure,
        }
    }
}
