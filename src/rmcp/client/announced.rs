use super::{Catalog, progress::Incoming, wire::refusal};
use ::rmcp::{
    RoleClient,
    model::{JsonRpcMessage, ServerNotification},
    service::{RxJsonRpcMessage, TxJsonRpcMessage},
    transport::Transport,
};
use std::borrow::Cow;
use tokio::task::JoinSet;

/// How many refusals may be on their way. A server that reads none gets no more.
const REFUSALS: usize = 16;

/// A transport that passes on announcements: changes of the tools to a catalog, and progress to the
/// running attempts. It refuses requests of the server that cannot be read.
///
/// The catalog knows before any later message is handled. The user's handler gets every message too:
/// progress with the token that the caller set, and all others as they are.
pub(super) struct Announced<T> {
    transport: T,
    catalog: Catalog,
    incoming: Incoming,
    refusals: JoinSet<()>,
}

impl<T> Announced<T> {
    pub(super) fn new(transport: T, catalog: Catalog, incoming: Incoming) -> Self {
        Self {
            transport,
            catalog,
            incoming,
            refusals: JoinSet::new(),
        }
    }
}

impl<T: Transport<RoleClient>> Transport<RoleClient> for Announced<T> {
    type Error = T::Error;

    fn name() -> Cow<'static, str> {
        T::name()
    }

    fn send(
        &mut self,
        mut message: TxJsonRpcMessage<RoleClient>,
    ) -> impl Future<Output = Result<(), Self::Error>> + Send + 'static {
        self.incoming.leave(&mut message);
        self.transport.send(message)
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleClient>> {
        let message = loop {
            let mut message = self.transport.receive().await?;
            if let Some(refusal) = refusal(&message) {
                while self.refusals.try_join_next().is_some() {}
                if self.refusals.len() < REFUSALS {
                    let sent = self.transport.send(refusal);
                    self.refusals.spawn(async move {
                        // Without a connection, no attempt waits for it.
                        let _ = sent.await;
                    });
                }
            } else if self.incoming.arrive(&mut message) {
                break message;
            }
        };
        if let JsonRpcMessage::Notification(notification) = &message
            && let ServerNotification::ToolListChangedNotification(_) = &notification.notification
        {
            self.catalog.announce();
        }
        Some(message)
    }

    fn close(&mut self) -> impl Future<Output = Result<(), Self::Error>> + Send {
        self.transport.close()
    }
}
