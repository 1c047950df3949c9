use super::{opening::Opening, process::Process, progress::Incoming, wire::Unread};
use crate::call::Route;
use std::sync::{Arc, OnceLock};

/// The parts of a connection beside its service, as far as its transport has them.
pub(super) struct TransportParts {
    pub(super) route: Route,
    pub(super) process: Option<Arc<Process>>,
    // Set once the server has given a session. A transport without sessions has none.
    pub(super) session: Option<Arc<OnceLock<Arc<str>>>>,
    pub(super) unread: Unread,
    pub(super) incoming: Incoming,
    pub(super) opening: Opening,
    // A server that knows callers by their tokens would run a call again under a renewed one.
    pub(super) renews_token: bool,
}

impl TransportParts {
    pub(super) fn new(route: Route) -> Self {
        Self {
            route,
            process: None,
            session: None,
            unread: Unread::default(),
            incoming: Incoming::default(),
            opening: Opening::default(),
            renews_token: false,
        }
    }

    pub(super) fn session_id(&self) -> Option<&str> {
        self.session.as_ref()?.get().map(|id| &**id)
    }
}
