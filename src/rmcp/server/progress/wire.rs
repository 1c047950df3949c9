use super::outgoing::Outgoing;
use ::rmcp::{
    RoleServer,
    model::{ClientRequest, GetExtensions, JsonRpcMessage},
    service::{RxJsonRpcMessage, TxJsonRpcMessage},
    transport::Transport,
};
use std::borrow::Cow;

/// A transport that sees the progress which tools report.
///
/// Each call that comes in carries the [`Outgoing`] of its connection, so that it can be registered
/// there.
pub(in crate::rmcp::server) struct Wire<T> {
    transport: T,
    outgoing: Outgoing,
}

impl<T> Wire<T> {
    pub(in crate::rmcp::server) fn new(transport: T) -> Self {
        Self {
            transport,
            outgoing: Outgoing::default(),
        }
    }
}

impl<T: Transport<RoleServer>> Transport<RoleServer> for Wire<T> {
    type Error = T::Error;

    fn name() -> Cow<'static, str> {
        T::name()
    }

    fn send(
        &mut self,
        mut message: TxJsonRpcMessage<RoleServer>,
    ) -> impl Future<Output = Result<(), Self::Error>> + Send + 'static {
        let verdict = self.outgoing.look(&mut message);
        let sending = verdict.is_to_send().then(|| self.transport.send(message));
        verdict.apply(sending)
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleServer>> {
        let mut message = self.transport.receive().await?;
        if let JsonRpcMessage::Request(request) = &mut message
            && let ClientRequest::CallToolRequest(_)
            | ClientRequest::ReadResourceRequest(_)
            | ClientRequest::GetPromptRequest(_) = &request.request
        {
            let extensions = request.request.extensions_mut();
            extensions.insert(self.outgoing.clone());
        }
        Some(message)
    }

    fn close(&mut self) -> impl Future<Output = Result<(), Self::Error>> + Send {
        self.transport.close()
    }
}
