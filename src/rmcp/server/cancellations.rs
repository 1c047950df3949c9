use crate::{
    call::{Cancellation, WeakCancellation},
    lock::Mutex,
};
use ::rmcp::{
    Peer, RoleServer,
    model::{InitializeRequestParams, RequestId},
};
use std::sync::Arc;

/// Calls that may outlive their requests, so that a client can still cancel them.
///
/// The token of a request is cancelled by its client and by the loss of the connection. The
/// notification comes only from the client.
#[derive(Default)]
pub(super) struct Cancellations(Mutex<Vec<Entry>>);

struct Entry {
    session: Arc<InitializeRequestParams>,
    request: RequestId,
    call: WeakCancellation,
}

impl Cancellations {
    /// Gives a call its handle. A session is identified by the client's description of itself, which
    /// rmcp keeps in one place for each session. In a session without one, a call cannot be cancelled
    /// after its request is gone.
    pub(super) fn begin(&self, peer: &Peer<RoleServer>, request: &RequestId) -> Cancellation {
        let cancellation = Cancellation::new();
        if let Some(session) = peer.peer_info() {
            let mut entries = self.0.lock();
            // Twice as many as there are calls at most.
            if entries.len() == entries.capacity() {
                entries.retain(|entry| !entry.call.is_over());
                let live = entries.len();
                entries.reserve(live.max(8));
            }
            entries.push(Entry {
                session,
                request: request.clone(),
                call: cancellation.downgrade(),
            });
        }
        cancellation
    }

    /// Cancels the call of a request.
    pub(super) fn cancel(&self, peer: &Peer<RoleServer>, request: &RequestId) {
        let Some(session) = peer.peer_info() else {
            return;
        };
        let is_meant =
            |entry: &&Entry| entry.request == *request && Arc::ptr_eq(&entry.session, &session);
        let calls: Vec<_> = {
            let entries = self.0.lock();
            let meant = entries.iter().filter(is_meant);
            meant.filter_map(|entry| entry.call.upgrade()).collect()
        };
        for call in calls {
            call.cancel();
        }
    }
}
