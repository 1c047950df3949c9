use super::HttpError;
use crate::{
    failure::Failure,
    rmcp::client::{progress::Incoming, wire::Unread},
};
use std::{
    sync::{Arc, Mutex, OnceLock, PoisonError, atomic::AtomicBool},
    time::Duration,
};
use tokio::{
    sync::watch,
    time::{self, Instant},
};

/// How long after the handshake a call waits for the standing stream.
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
    /// The end of the handshake, in a session.
    ready: Arc<OnceLock<Instant>>,
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
            ready: Arc::default(),
            standing: watch::Sender::new(false),
        }
    }
}

impl Known {
    /// Keeps why the last message of the handshake failed: rmcp only logs that.
    pub(in crate::rmcp::client) fn refused(&self, error: HttpError) {
        *self.refused.lock().unwrap_or_else(PoisonError::into_inner) = Some(error);
    }

    /// Notes the end of the handshake. rmcp opens the standing stream now.
    pub(in crate::rmcp::client) fn is_ready(&self) {
        self.ready.get_or_init(Instant::now);
    }

    pub(in crate::rmcp::client) fn standing_is_answered(&self) {
        self.standing.send_replace(true);
    }

    /// Waits until the standing stream is open, or refused, so that nothing is missed that the server says in
    /// the first call, and no server takes the stream for the resumption of that call's. A server without
    /// sessions is not asked for one.
    pub(in crate::rmcp::client) async fn standing(&self) {
        let Some(ready) = self.ready.get() else {
            return;
        };
        if *self.standing.borrow() {
            return;
        }
        let mut standing = self.standing.subscribe();
        let is_answered = standing.wait_for(|is_answered| *is_answered);
        // Some servers say nothing before the first event.
        if time::timeout_at(*ready + STANDING, is_answered)
            .await
            .is_err()
        {
            // Later calls need no timer.
            self.standing_is_answered();
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
