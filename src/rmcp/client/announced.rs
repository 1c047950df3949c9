use super::Catalog;
use ::rmcp::{
    RoleClient,
    model::{JsonRpcMessage, ServerNotification},
    service::{RxJsonRpcMessage, TxJsonRpcMessage},
    transport::Transport,
};
use std::borrow::Cow;

/// A transport that tells a catalog when the server announces a change of its tools.
///
/// The catalog knows before any later message is handled, and whoever else gets the notification:
/// the user's handler gets every message as it is.
pub(super) struct Announced<T> {
    transport: T,
    catalog: Catalog,
}

impl<T> Announced<T> {
    pub(super) fn new(transport: T, catalog: Catalog) -> Self {
        Self { transport, catalog }
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
        let message = self.transport.receive().await?;
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
