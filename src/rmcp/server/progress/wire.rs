use super::{open::Open, outgoing::Outgoing, sending::Sending};
use crate::serve::CLOSE;
use ::rmcp::{
    RoleServer,
    model::{ClientRequest, GetExtensions, JsonRpcMessage},
    service::{RxJsonRpcMessage, TxJsonRpcMessage},
    transport::Transport,
};
use std::{borrow::Cow, time::Duration};
use tokio::time::{Instant, timeout, timeout_at};

/// How long the end of the input waits for the answers to earlier requests.
const AFTER_END: Duration = Duration::from_secs(5);

/// A transport that sees the progress that tools report.
///
/// Each incoming call carries the [`Outgoing`] of its connection, to be registered there. The end of
/// the input is held back until all requests are answered: after it, rmcp sends no progress and no
/// requests to the client, and a tool that waits for either would never answer.
pub(in crate::rmcp::server) struct Wire<T> {
    transport: T,
    outgoing: Outgoing,
    open: Open,
    // Set at the end of the input.
    held_until: Option<Instant>,
}

impl<T> Wire<T> {
    pub(in crate::rmcp::server) fn new(transport: T) -> Self {
        Self {
            transport,
            outgoing: Outgoing::default(),
            open: Open::default(),
            held_until: None,
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
        let answered = self.open.answered(&message);
        let verdict = self.outgoing.look(&mut message);
        let sending = verdict.is_to_send().then(|| self.transport.send(message));
        Sending::new(verdict, sending, answered)
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleServer>> {
        let message = match self.held_until {
            None => self.transport.receive().await,
            Some(_) => None,
        };
        let Some(mut message) = message else {
            let until = *self
                .held_until
                .get_or_insert_with(|| Instant::now() + AFTER_END);
            // In time or not: this is the end.
            let _ = timeout_at(until, self.open.none()).await;
            return None;
        };
        self.open.came(&message);
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

    /// A client that does not read delays the writes, and so the close: rmcp drops later ones.
    async fn close(&mut self) -> Result<(), Self::Error> {
        timeout(CLOSE, self.transport.close())
            .await
            .unwrap_or(Ok(()))
    }
}
