//! The parts of a connection beside its service, as far as its transport has them.

use super::Inner;
#[cfg(feature = "rmcp-client-http")]
use super::ping;
use crate::{
    call::Route,
    rmcp::client::{process::Process, progress::Incoming, wire::Unread},
};
#[cfg(feature = "rmcp-client-http")]
use std::sync::{Arc, OnceLock};

impl Inner {
    /// Passes reports of progress to the running attempts.
    pub(in crate::rmcp::client) fn hearing(mut self, incoming: Incoming) -> Self {
        self.incoming = incoming;
        self
    }

    pub(in crate::rmcp::client) fn of_process(mut self, process: Process) -> Self {
        self.process = Some(process);
        self
    }

    /// Its token is renewed: a server that knows callers by their tokens would run a call again.
    #[cfg(feature = "rmcp-client-http")]
    pub(in crate::rmcp::client) fn renewing(mut self, is_renewed: bool) -> Self {
        self.honoured = self
            .honoured
            .take()
            .filter(|said| said.is_stable || !is_renewed);
        self.lister.catalog().set_honoured(self.honoured.clone());
        self
    }

    /// Pings in a session, since only a server that answers pings can say by a refused one that the session
    /// is lost.
    #[cfg(feature = "rmcp-client-http")]
    pub(in crate::rmcp::client) fn with_session(
        mut self,
        session: Arc<OnceLock<Arc<str>>>,
    ) -> Self {
        if session.get().is_some() {
            let (peer, is_answered) = (self.peer.clone(), Arc::clone(&self.answers_ping));
            self.tasks.spawn(async move {
                // A failure of this connection is noticed elsewhere.
                let _ = ping(&peer, &is_answered).await;
            });
        }
        self.session = Some(session);
        self
    }

    /// Which way its calls travel.
    pub(in crate::rmcp::client) fn on(mut self, route: Route) -> Self {
        self.route = route;
        self
    }

    /// Adds to the failures of calls what was skipped while they waited.
    pub(in crate::rmcp::client) fn telling(mut self, unread: Unread) -> Self {
        self.unread = unread;
        self
    }
}
