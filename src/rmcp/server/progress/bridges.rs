use super::{bridge::Bridge, outgoing::Outgoing};
use ::rmcp::{
    Peer, RoleServer, ServerHandler,
    model::InitializeRequestParams,
    service::{RunningService, serve_directly},
};
use std::sync::{Arc, Mutex, PoisonError};

/// The bridges of one handler's sessions: one, unless several sessions share the handler.
///
/// A session is known by what its client said of itself, which rmcp keeps in one place for each
/// session. The bridge ends with the handler, as rmcp's session does.
#[derive(Default)]
pub(in crate::rmcp::server) struct Bridges(Mutex<Vec<Session>>);

struct Session {
    client: Arc<InitializeRequestParams>,
    own: Peer<RoleServer>,
    bridge: RunningService<RoleServer, Nobody>,
    outgoing: Outgoing,
}

/// Nothing is asked over a bridge.
struct Nobody;

impl ServerHandler for Nobody {}

impl Bridges {
    /// The peer to be used in place of this one, and what it sends. `None` if its session has no
    /// identity.
    pub(super) fn instead_of(
        &self,
        own: &Peer<RoleServer>,
    ) -> Option<(Peer<RoleServer>, Outgoing)> {
        let client = own.peer_info()?;
        let mut sessions = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        sessions.retain(|session| !session.own.is_transport_closed());
        let mut known = sessions.iter();
        if let Some(session) = known.find(|session| Arc::ptr_eq(&session.client, &client)) {
            return Some((session.bridge.peer().clone(), session.outgoing.clone()));
        }
        let outgoing = Outgoing::default();
        let transport = Bridge::new(own.clone(), outgoing.clone());
        let bridge = serve_directly(Nobody, transport, Some((*client).clone()));
        let peer = bridge.peer().clone();
        sessions.push(Session {
            client,
            own: own.clone(),
            bridge,
            outgoing: outgoing.clone(),
        });
        Some((peer, outgoing))
    }
}
