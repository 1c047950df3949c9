use super::HttpError;
use crate::{
    failure::Failure,
    rmcp::client::{progress::Incoming, wire::Unread},
};
use std::{
    sync::{Arc, Mutex, OnceLock, PoisonError, atomic::AtomicBool},
    time::Duration,
};
use tokio::{sync::watch, time};

/// How long a dial waits for the standing stream.
const STANDING: Duration = Duration::from_millis(500);

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
    /// Whether the server has answered the request for the standing stream.
    standing: watch::Sender<bool>,
}

impl Default for Known {
    fn default() -> Self {
        Self {
            session: Arc::default(),
            may_push: Arc::new(AtomicBool::new(true)),
            unread: Unread::default(),
            incoming: Incoming::default(),
            refused: Arc::default(),
            standing: watch::Sender::new(false),
        }
    }
}

impl Known {
    /// Keeps why the last message of the handshake failed: rmcp only logs that.
    pub(in crate::rmcp::client) fn refused(&self, error: HttpError) {
        *self.refused.lock().unwrap_or_else(PoisonError::into_inner) = Some(error);
    }

    pub(in crate::rmcp::client) fn standing_is_answered(&self) {
        self.standing.send_replace(true);
    }

    /// Waits until the standing stream is open, or refused, so that nothing is missed that the server says in
    /// the first call, and no server takes the stream for the resumption of that call's. A server without
    /// sessions is not asked for one.
    pub(in crate::rmcp::client) async fn standing(&self) {
        if self.session.get().is_some() {
            let mut standing = self.standing.subscribe();
            // Some servers say nothing before the first event.
            let _ = time::timeout(STANDING, standing.wait_for(|is_answered| *is_answered)).await;
        }
    }

    /// The failure of a dial, or a better reason.
    pub(in crate::rmcp::client) fn explain(&self, failure: Failure) -> Failure {
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
