//! Calls that rmcp refuses before the handshake is through.
//!
//! rmcp answers them by itself, so that no handler and no stack sees them. They leave their log line
//! too.

use super::{Resilient, ServerAnswer, ServerCall};
use crate::{failure::BoxError, rmcp::Request, serve::Unreadable};
use ::rmcp::{
    RoleServer, ServerHandler,
    model::{
        ClientRequest, Extensions, GetExtensions, GetMeta, JsonRpcMessage, ProtocolVersion,
        RequestId,
    },
    service::{RequestContext, RxJsonRpcMessage, TxJsonRpcMessage, serve_directly},
    transport::Transport,
};
use serde_json::Value;
use std::{borrow::Cow, collections::HashMap};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tower::Service;

/// How many calls are kept that rmcp has not answered yet.
const MOST: usize = 64;

/// A call that was refused.
pub(super) struct EarlyCall {
    asked: Asked,
    id: RequestId,
    unreadable: Unreadable,
}

struct Asked {
    request: Request,
    arguments: Option<Value>,
    extensions: Extensions,
}

/// A transport that reports calls that are refused before the handshake.
pub(super) struct Early<T> {
    transport: T,
    asked: HashMap<RequestId, Asked>,
    is_over: bool,
    refused: UnboundedSender<EarlyCall>,
}

impl<T> Early<T> {
    /// The transport, and the calls that it reports.
    pub(super) fn new(transport: T) -> (Self, UnboundedReceiver<EarlyCall>) {
        let (refused, told) = unbounded_channel();
        let early = Self {
            transport,
            asked: HashMap::new(),
            is_over: false,
            refused,
        };
        (early, told)
    }

    fn came(&mut self, message: &RxJsonRpcMessage<RoleServer>) {
        let JsonRpcMessage::Request(message) = message else {
            return;
        };
        let request = &message.request;
        let Some((call, arguments)) = call_of(request) else {
            self.is_over |= matches!(request, ClientRequest::InitializeRequest(_));
            return;
        };
        let missing = request
            .get_meta()
            .missing_required_keys(&ProtocolVersion::V_2026_07_28);
        if missing.is_empty() {
            // It begins a session without `initialize`.
            self.is_over = true;
        } else if self.asked.len() < MOST {
            let asked = Asked {
                request: call,
                arguments,
                extensions: request.extensions().clone(),
            };
            self.asked.insert(message.id.clone(), asked);
        }
    }

    fn left(&mut self, message: &TxJsonRpcMessage<RoleServer>) {
        let JsonRpcMessage::Error(message) = message else {
            return;
        };
        let Some(id) = message.id.clone() else {
            return;
        };
        let Some(asked) = self.asked.remove(&id) else {
            return;
        };
        let unreadable = Unreadable {
            code: message.error.code.0,
            problem: message.error.message.to_string(),
        };
        // The run is over, so there is no receiver.
        let _ = self.refused.send(EarlyCall {
            asked,
            id,
            unreadable,
        });
    }
}

impl<T: Transport<RoleServer>> Transport<RoleServer> for Early<T> {
    type Error = T::Error;

    fn name() -> Cow<'static, str> {
        T::name()
    }

    fn send(
        &mut self,
        message: TxJsonRpcMessage<RoleServer>,
    ) -> impl Future<Output = Result<(), Self::Error>> + Send + 'static {
        if !self.asked.is_empty() {
            self.left(&message);
        }
        self.transport.send(message)
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleServer>> {
        let message = self.transport.receive().await?;
        if !self.is_over {
            self.came(&message);
        }
        Some(message)
    }

    async fn close(&mut self) -> Result<(), Self::Error> {
        self.transport.close().await
    }
}

/// Nothing is asked of it.
struct Nobody;

impl ServerHandler for Nobody {}

impl<H, S> Resilient<H, S>
where
    H: ServerHandler,
    S: Service<ServerCall, Response = ServerAnswer> + Clone,
    S::Error: Into<BoxError>,
{
    /// Sends a call that was refused through the stack, for its line.
    pub(super) async fn note_early(&self, call: EarlyCall) {
        let EarlyCall {
            mut asked,
            id,
            unreadable,
        } = call;
        // It never runs: it has no use for an idempotency key, which another call may have.
        if let Request::Tool(params) = &mut asked.request
            && let Some(meta) = &mut params.meta
        {
            meta.0.retain(|name, _| {
                ["traceparent", "tracestate", "baggage"].contains(&name.as_str())
            });
        }
        // Before the handshake there is no peer.
        let (near, _far) = tokio::io::duplex(64);
        let nobody = serve_directly(Nobody, near, None);
        let mut context = RequestContext::new(id, nobody.peer().clone());
        context.extensions = asked.extensions;
        // The client has its answer.
        let _ = self
            .dispatch_unreadable(asked.request, asked.arguments, unreadable, context)
            .await;
    }
}

/// The call that a request is, and what it is made with.
fn call_of(request: &ClientRequest) -> Option<(Request, Option<Value>)> {
    match request {
        ClientRequest::CallToolRequest(call) => {
            let arguments = call.params.arguments.clone().map(Value::Object);
            Some((Request::Tool(call.params.clone()), arguments))
        }
        ClientRequest::ReadResourceRequest(read) => {
            Some((Request::Resource(read.params.clone()), None))
        }
        ClientRequest::GetPromptRequest(get) => Some((Request::Prompt(get.params.clone()), None)),
        ClientRequest::CustomRequest(custom) => {
            let call = super::unreadable::as_call(custom)?;
            let arguments = custom
                .params
                .as_ref()
                .and_then(|params| params.get("arguments"));
            Some((call, arguments.cloned()))
        }
        _ => None,
    }
}
