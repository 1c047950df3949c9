use super::{Catalog, progress::Incoming};
use ::rmcp::{
    RoleClient,
    model::{JsonRpcMessage, ServerNotification},
    service::{RxJsonRpcMessage, TxJsonRpcMessage},
    transport::Transport,
};
use std::borrow::Cow;

/// A transport that tells a catalog when the server announces a change of its tools, and the attempts
/// that run when the server reports progress.
///
/// The catalog knows before any later message is handled. The user's handler gets every message too:
/// progress under the token that the caller set, and all else as it is.
pub(super) struct Announced<T> {
    transport: T,
    catalog: Catalog,
    incoming: Incoming,
}

impl<T> Announced<T> {
    pub(super) fn new(transport: T, catalog: Catalog, incoming: Incoming) -> Self {
        Self {
            transport,
            catalog,
            incoming,
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
        let mut message = self.transport.receive().await?;
        while !self.incoming.arrive(&mut message) {
            message = self.transport.receive().await?;
        }
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
