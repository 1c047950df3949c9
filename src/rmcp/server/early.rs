//! Calls that rmcp refuses before the handshake is through.
//!
//! rmcp answers them by itself, so that no handler and no stack sees them. They leave their log line
//! too.

use super::{Resilient, ServerAnswer, ServerCall, unreadable::Unreadable};
use crate::{
    failure::BoxError,
    rmcp::Request,
    serve::{CLOSE, MOMENT},
};
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
use std::{borrow::Cow, collections::HashMap, future::pending};
use tokio::{
    sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel},
    task::JoinSet,
    time::timeout,
};
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
        let Some(mut asked) = self.asked.remove(&id) else {
            return;
        };
        let unreadable = Unreadable {
            code: message.error.code,
            problem: message.error.message.to_string(),
            arguments: asked.arguments.take(),
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

/// Sends the refused calls through the stack, all at once. A slow stack delays neither the handshake
/// nor another call.
pub(super) struct Noting<H, S> {
    server: Resilient<H, S>,
    refused: UnboundedReceiver<EarlyCall>,
    tasks: JoinSet<()>,
}

impl<H, S> Noting<H, S>
where
    H: ServerHandler,
    S: Service<ServerCall, Response = ServerAnswer> + Clone + Send + Sync + 'static,
    S::Error: Into<BoxError> + Send,
    S::Future: Send,
{
    pub(super) fn new(server: Resilient<H, S>, refused: UnboundedReceiver<EarlyCall>) -> Self {
        Self {
            server,
            refused,
            tasks: JoinSet::new(),
        }
    }

    /// Takes the calls as they are refused. Never ends.
    pub(super) async fn go_on<T>(&mut self) -> T {
        loop {
            tokio::select! {
                Some(call) = self.refused.recv() => self.begin(call),
                Some(_) = self.tasks.join_next() => {}
                else => return pending().await,
            }
        }
    }

    /// Waits for the calls that were refused so far. A stack that takes longer is not waited for:
    /// `cancelled` in the log.
    pub(super) async fn end(mut self) {
        while let Ok(call) = self.refused.try_recv() {
            self.begin(call);
        }
        let all = async { while self.tasks.join_next().await.is_some() {} };
        if timeout(CLOSE, all).await.is_err() {
            let _ = timeout(MOMENT, self.tasks.shutdown()).await;
        }
    }

    fn begin(&mut self, call: EarlyCall) {
        let server = self.server.clone();
        self.tasks
            .spawn(async move { server.note_early(call).await });
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
    async fn note_early(&self, call: EarlyCall) {
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
            .dispatch_unreadable(asked.request, unreadable, context)
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
