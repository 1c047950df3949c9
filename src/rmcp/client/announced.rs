use super::{Catalog, wire::refusal};
use ::rmcp::{
    RoleClient,
    model::{JsonRpcMessage, ServerNotification},
    service::{RxJsonRpcMessage, TxJsonRpcMessage},
    transport::Transport,
};
use std::borrow::Cow;
use tokio::task::JoinSet;

/// How many refusals may be on their way: a server that reads none gets no more.
const REFUSALS: usize = 16;

/// A transport that tells a catalog when the server announces a change of its tools, and refuses the
/// server's requests that cannot be read.
///
/// The catalog knows before any later message is handled, and whoever else gets the notification:
/// the user's handler gets every other message as it is.
pub(super) struct Announced<T> {
    transport: T,
    catalog: Catalog,
    refusals: JoinSet<()>,
}

impl<T> Announced<T> {
    pub(super) fn new(transport: T, catalog: Catalog) -> Self {
        Self {
            transport,
            catalog,
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
        message: TxJsonRpcMessage<RoleClient>,
    ) -> impl Future<Output = Result<(), Self::Error>> + Send + 'static {
        self.transport.send(message)
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleClient>> {
        let message = loop {
            let message = self.transport.receive().await?;
            let Some(refusal) = refusal(&message) else {
                break message;
            };
            while self.refusals.try_join_next().is_some() {}
            if self.refusals.len() < REFUSALS {
                let sent = self.transport.send(refusal);
                self.refusals.spawn(async move {
                    // Without a connection nobody waits for it.
                    let _ = sent.await;
                });
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
