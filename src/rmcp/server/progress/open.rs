use ::rmcp::{
    RoleServer,
    model::{ClientNotification, JsonRpcMessage, RequestId},
    service::{RxJsonRpcMessage, TxJsonRpcMessage},
};
use std::collections::HashSet;
use tokio::sync::watch;

/// The requests of a client that have no answer yet.
#[derive(Default)]
pub(super) struct Open(watch::Sender<HashSet<RequestId>>);

impl Open {
    /// Notes a request. A request that the client cancels needs no answer.
    pub(super) fn came(&self, message: &RxJsonRpcMessage<RoleServer>) {
        match message {
            JsonRpcMessage::Request(request) => {
                self.0.send_modify(|open| {
                    open.insert(request.id.clone());
                });
            }
            JsonRpcMessage::Notification(notification) => {
                if let ClientNotification::CancelledNotification(cancelled) =
                    &notification.notification
                    && let Some(id) = &cancelled.params.request_id
                {
                    close(&self.0, id);
                }
            }
            _ => {}
        }
    }

    /// The request that a message answers. It is answered when the returned guard is dropped.
    pub(super) fn answered(&self, message: &TxJsonRpcMessage<RoleServer>) -> Option<Answered> {
        let id = match message {
            JsonRpcMessage::Response(response) => response.id.clone(),
            JsonRpcMessage::Error(error) => error.id.clone()?,
            _ => return None,
        };
        Some(Answered {
            open: self.0.clone(),
            id,
        })
    }

    /// Waits until every request is answered.
    pub(super) async fn none(&self) {
        // The sender is borrowed here, and cannot be gone.
        let _ = self.0.subscribe().wait_for(HashSet::is_empty).await;
    }
}

fn close(open: &watch::Sender<HashSet<RequestId>>, id: &RequestId) {
    open.send_modify(|open| {
        open.remove(id);
    });
}

/// An answer on its way out.
pub(super) struct Answered {
    open: watch::Sender<HashSet<RequestId>>,
    id: RequestId,
}

impl Drop for Answered {
    fn drop(&mut self) {
        close(&self.open, &self.id);
    }
}
