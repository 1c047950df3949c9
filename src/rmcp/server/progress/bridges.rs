use super::{bridge::Bridge, outgoing::Outgoing};
use crate::lock::Mutex;
use ::rmcp::{
    Peer, RoleServer, ServerHandler,
    model::InitializeRequestParams,
    service::{RequestContext, RunningService, serve_directly},
};
use std::sync::Arc;

/// The bridges of one handler's sessions: one, unless several sessions share the handler.
///
/// A session is identified by the client's description of itself, which rmcp keeps in one place for
/// each session. In a session without `initialize`, each request has the description, and rmcp keeps
/// none. Then that of the first request is kept, as rmcp does over HTTP. The bridge ends with the
/// handler, as rmcp's session does.
#[derive(Default)]
pub(in crate::rmcp::server) struct Bridges(Mutex<Vec<Session>>);

struct Session {
    client: Arc<InitializeRequestParams>,
    own: Peer<RoleServer>,
    bridge: RunningService<RoleServer, Nobody>,
    outgoing: Outgoing,
}

/// No requests are made over a bridge.
struct Nobody;

impl ServerHandler for Nobody {}

impl Bridges {
    /// The peer to use in place of the request's own, and its messages. `None` if the client did not
    /// describe itself.
    pub(super) fn instead_of(
        &self,
        context: &RequestContext<RoleServer>,
    ) -> Option<(Peer<RoleServer>, Outgoing)> {
        let own = &context.peer;
        let mut sessions = self.0.lock();
        sessions.retain(|session| !session.own.is_transport_closed());
        let client = own.peer_info().or_else(|| introduce(context))?;
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

/// Keeps a request's description of its client for the whole session.
fn introduce(context: &RequestContext<RoleServer>) -> Option<Arc<InitializeRequestParams>> {
    let capabilities = context.client_capabilities()?;
    let mut client = InitializeRequestParams::new(capabilities, context.client_info()?);
    client.protocol_version = context.protocol_version()?;
    context.peer.set_peer_info(client);
    context.peer.peer_info()
}
