use super::{outgoing::Outgoing, sending::Sending};
use crate::lock::Mutex;
use ::rmcp::{
    Peer, RoleServer,
    model::{JsonRpcMessage, RequestId, ServerNotification, ServerRequest},
    service::{PeerRequestOptions, RxJsonRpcMessage, ServiceError, TxJsonRpcMessage},
    transport::Transport,
};
use std::{collections::HashMap, sync::Arc};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

/// A transport whose other end is a peer: messages on it go to the peer, and can be seen.
///
/// rmcp's `Peer` cannot be wrapped, but a new one can be made over a transport. It replaces the
/// session's own in the contexts of calls.
pub(super) struct Bridge {
    peer: Peer<RoleServer>,
    outgoing: Outgoing,
    asked: Asked,
    answer: UnboundedSender<RxJsonRpcMessage<RoleServer>>,
    answers: UnboundedReceiver<RxJsonRpcMessage<RoleServer>>,
}

/// The ids that the session's own peer gave to requests on their way.
type Asked = Arc<Mutex<HashMap<RequestId, RequestId>>>;

impl Bridge {
    pub(super) fn new(peer: Peer<RoleServer>, outgoing: Outgoing) -> Self {
        let (answer, answers) = unbounded_channel();
        Self {
            peer,
            outgoing,
            asked: Asked::default(),
            answer,
            answers,
        }
    }
}

impl Transport<RoleServer> for Bridge {
    type Error = ServiceError;

    fn send(
        &mut self,
        mut message: TxJsonRpcMessage<RoleServer>,
    ) -> impl Future<Output = Result<(), ServiceError>> + Send + 'static {
        let verdict = self.outgoing.look(&mut message);
        let (peer, answer) = (self.peer.clone(), self.answer.clone());
        let asked = Arc::clone(&self.asked);
        let sending = async move {
            match message {
                JsonRpcMessage::Request(request) => {
                    let reply = ask(&peer, &asked, request.request, request.id).await?;
                    // The bridge is gone, so there is no receiver.
                    let _ = answer.send(reply);
                    Ok(())
                }
                JsonRpcMessage::Notification(message) => {
                    notify(&peer, &asked, message.notification).await
                }
                // No requests are made over a bridge.
                JsonRpcMessage::Response(_) | JsonRpcMessage::Error(_) => Ok(()),
            }
        };
        let is_to_send = verdict.is_to_send();
        Sending::new(verdict, is_to_send.then_some(sending), ())
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleServer>> {
        self.answers.recv().await
    }

    async fn close(&mut self) -> Result<(), ServiceError> {
        Ok(())
    }
}

async fn ask(
    peer: &Peer<RoleServer>,
    asked: &Asked,
    request: ServerRequest,
    id: RequestId,
) -> Result<RxJsonRpcMessage<RoleServer>, ServiceError> {
    // The limits are those of the peer before the bridge.
    let options = PeerRequestOptions::no_options();
    let handle = peer.send_request_with_option(request, options).await?;
    asked.lock().insert(id.clone(), handle.id.clone());
    let answer = handle.await_response().await;
    asked.lock().remove(&id);
    match answer {
        Ok(result) => Ok(JsonRpcMessage::response(result, id)),
        Err(ServiceError::McpError(error)) => Ok(JsonRpcMessage::error(error, Some(id))),
        Err(error) => Err(error),
    }
}

async fn notify(
    peer: &Peer<RoleServer>,
    asked: &Asked,
    mut notification: ServerNotification,
) -> Result<(), ServiceError> {
    if let ServerNotification::CancelledNotification(cancelled) = &mut notification
        && let Some(id) = &mut cancelled.params.request_id
    {
        match asked.lock().remove(id) {
            Some(known) => *id = known,
            // The call was answered in the meantime.
            None => return Ok(()),
        }
    }
    peer.send_notification(notification).await
}
