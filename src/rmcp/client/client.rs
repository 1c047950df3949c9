use super::{
    Catalog, ClientCall, Connection, abandoned::KeyedCall, in_flight::InFlight, keys::Keys,
    settings::Shared,
};
use crate::{
    call::IdempotencyKey,
    failure::Failure,
    preset::{self, Connected},
    reconnect::{ConnectionState, ReconnectHandle, StateChanges},
    rmcp::{Answer, Request},
};
use ::rmcp::model::{
    CallToolRequestParams, CallToolResponse, GetPromptRequestParams, GetPromptResponse,
    ReadResourceRequestParams, ReadResourceResponse, ServerPeerInfo, Tool,
};
use std::{
    fmt,
    pin::{Pin, pin},
    sync::Arc,
    task::{Context, Poll},
    time::Duration,
};
use tokio::time;
use tower::{Service, ServiceExt};

/// The longest that closing the last connection takes: a child process gets two signals.
const LAST_CONNECTION: Duration = Duration::from_secs(8);

type Stack = Connected<Connection>;
type Handle = ReconnectHandle<preset::Connection<Connection>>;

/// A client of one server: a connection that comes back, with all layers around it.
///
/// Clones share everything. Two clients share nothing, even if their connectors are clones of one. As
/// a service it takes a [`Request`] and returns an [`Answer`]; its methods have the plain types. Each
/// call ends within the limits of the [preset](crate::preset), with a result, a flagged result, or an
/// error for the host.
///
/// Requests other than calls do not pass the layers, and still use the connection that comes back:
/// see [`with_peer`](Self::with_peer).
///
/// Dropping a call cancels it at the server. Dropping the last clone closes the connection in the
/// background; [`close`](Self::close) waits for that.
///
/// ```no_run
/// use mcp_resilience::rmcp::client::{ChildProcess, Client};
/// use serde_json::json;
///
/// # async fn run() -> Result<(), mcp_resilience::Failure> {
/// let client = Client::connect(ChildProcess::new("my-server")).await?;
/// for tool in client.tools()?.iter() {
///     println!("{}", tool.name);
/// }
/// let result = client.call("list_books", json!({"author": "Austen"})).await?;
/// assert_ne!(result.is_error, Some(true));
/// client.close().await;
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct Client {
    pub(super) parts: Parts,
}

#[derive(Clone)]
pub(super) struct Parts {
    pub(super) stack: Stack,
    pub(super) handle: Handle,
    pub(super) shared: Shared,
    pub(super) limits: Limits,
    pub(super) keys: Keys,
}

/// Limits of requests other than calls.
#[derive(Clone, Copy, Debug)]
pub(super) struct Limits {
    pub(super) request: Duration,
    pub(super) close: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            request: Duration::from_secs(30),
            close: Duration::from_secs(10),
        }
    }
}

impl Client {
    pub(super) fn new(parts: Parts) -> Self {
        Self { parts }
    }

    /// Calls a tool. If the server asks for input, that is the answer.
    ///
    /// # Errors
    ///
    /// A failure that no flagged result carries: a deliberate JSON-RPC error, a cancellation, a fatal
    /// failure.
    pub async fn call_tool(
        &self,
        params: impl Into<CallToolRequestParams>,
    ) -> Result<CallToolResponse, Failure> {
        self.send_tool(params.into(), |call| call).await
    }

    /// Reads a resource.
    ///
    /// # Errors
    ///
    /// Every failure: a resource has no flag.
    pub async fn read_resource(
        &self,
        params: impl Into<ReadResourceRequestParams>,
    ) -> Result<ReadResourceResponse, Failure> {
        match self.send(params.into(), |call| call).await? {
            Answer::Resource(response) => Ok(response),
            Answer::Tool(_) | Answer::Prompt(_) => Err(another_kind()),
        }
    }

    /// Gets a prompt.
    ///
    /// # Errors
    ///
    /// Every failure: a prompt has no flag.
    pub async fn get_prompt(
        &self,
        params: impl Into<GetPromptRequestParams>,
    ) -> Result<GetPromptResponse, Failure> {
        match self.send(params.into(), |call| call).await? {
            Answer::Prompt(response) => Ok(response),
            Answer::Tool(_) | Answer::Resource(_) => Err(another_kind()),
        }
    }

    /// Calls a tool with settings of the call's own.
    pub(super) async fn send_tool(
        &self,
        params: CallToolRequestParams,
        settings: impl FnOnce(ClientCall) -> ClientCall,
    ) -> Result<CallToolResponse, Failure> {
        match self.send(params, settings).await? {
            Answer::Tool(response) => Ok(response),
            Answer::Resource(_) | Answer::Prompt(_) => Err(another_kind()),
        }
    }

    async fn send(
        &self,
        request: impl Into<Request>,
        settings: impl FnOnce(ClientCall) -> ClientCall,
    ) -> Result<Answer, Failure> {
        let Parts { shared, stack, .. } = &self.parts;
        let mut call = settings(shared.catalog.call(request));
        let keyed = self.parts.keys.give(&mut call, &shared.abandoned);
        // Large: it holds the futures of all layers.
        let answer = Box::pin(stack.clone().oneshot(call));
        counted(&shared.in_flight, keyed, answer).await
    }

    /// The key that a call of a tool is sent with, if any.
    pub(super) fn key_for(&self, params: &CallToolRequestParams) -> Option<IdempotencyKey> {
        let Parts { shared, keys, .. } = &self.parts;
        keys.key_for(shared.catalog.call(params.clone()), &shared.abandoned)
    }

    /// The server's tools, as of the last list that could be read. The list is read at each dial,
    /// after the server announced a change, and by [`list_tools`](Self::list_tools).
    ///
    /// # Errors
    ///
    /// If no list could be read yet: the reason. The list is read again in the background. A server
    /// without tools gives an empty list.
    pub fn tools(&self) -> Result<Arc<[Tool]>, Failure> {
        self.parts.shared.catalog.tools()
    }

    /// The catalog of the server's tools.
    #[must_use]
    pub fn catalog(&self) -> &Catalog {
        &self.parts.shared.catalog
    }

    /// Whether there is a connection, as far as a call or a probe has noticed.
    #[must_use]
    pub fn is_connected(&self) -> bool {
        self.parts.handle.is_connected()
    }

    /// The current state of the connection, with its generation. See
    /// [`server_info`](Self::server_info) for the server's own description.
    #[must_use]
    pub fn state(&self) -> ConnectionState {
        self.parts.handle.state()
    }

    /// Watches the state of the connection from now on.
    #[must_use]
    pub fn changes(&self) -> StateChanges {
        self.parts.handle.changes()
    }

    /// Makes a new connection at once. See [`ReconnectHandle::reconnect`].
    ///
    /// # Errors
    ///
    /// The failure of the dial; `Cancelled` after [`close`](Self::close).
    pub async fn reconnect(&self) -> Result<(), Failure> {
        self.parts.handle.reconnect().await
    }

    /// Clears the backoff and the last failure: the next call dials at once. See
    /// [`ReconnectHandle::reset`].
    pub fn reset(&self) {
        self.parts.handle.reset();
    }

    /// The server's description of itself in the handshake: name, version, capabilities,
    /// instructions. `None` without a connection.
    #[must_use]
    pub fn server_info(&self) -> Option<Arc<ServerPeerInfo>> {
        self.connection()?.peer().peer_info()
    }

    /// The handle, which watches the connection and can end it.
    #[must_use]
    pub fn handle(&self) -> &Handle {
        &self.parts.handle
    }

    /// The current connection, without the layers. `None` without a connection.
    ///
    /// A request on it has no limit, is not logged and not repeated, and its failure does not replace
    /// the connection: prefer [`with_peer`](Self::with_peer). The connection stays open while it is
    /// held, also after [`close`](Self::close).
    #[must_use]
    pub fn connection(&self) -> Option<Connection> {
        self.parts.handle.connection().map(|made| inner(&made))
    }

    /// Ends the connection. New calls, and calls that wait for a connection, end at once. Running
    /// calls get the [`close_timeout`](super::ClientBuilder::close_timeout) of 10 s, and then fail as
    /// `Cancelled`. After that the server is told, and a child process ended, which takes up to 8 s.
    /// Calls of other clients are not affected.
    ///
    /// Dropping the future stops only the waiting.
    pub async fn close(self) {
        let Parts {
            stack,
            handle,
            shared,
            limits,
            ..
        } = self.parts;
        handle.shutdown();
        drop(stack);
        let Shared {
            in_flight,
            abandoned,
            ..
        } = shared;
        if time::timeout(limits.close, in_flight.no_call())
            .await
            .is_err()
        {
            tracing::warn!(
                limit_ms = limits.close.as_millis(),
                "calls still run at the close of a client: they end now"
            );
            in_flight.cut();
        }
        // After that a child was killed, or the connection is still held elsewhere.
        let _ = time::timeout(LAST_CONNECTION, in_flight.none_open()).await;
        abandoned.cancel();
    }
}

/// The connection without its layers.
pub(super) fn inner(made: &preset::Connection<Connection>) -> Connection {
    made.get_ref().get_ref().clone()
}

impl Service<Request> for Client {
    type Response = Answer;
    type Error = Failure;
    type Future = Pin<Box<dyn Future<Output = Result<Answer, Failure>> + Send>>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Failure>> {
        self.parts.stack.poll_ready(cx)
    }

    fn call(&mut self, request: Request) -> Self::Future {
        let Parts {
            shared,
            stack,
            keys,
            ..
        } = &mut self.parts;
        let mut call = shared.catalog.call(request);
        let keyed = keys.give(&mut call, &shared.abandoned);
        let answer = stack.call(call);
        Box::pin(counted(&shared.in_flight, keyed, answer))
    }
}

impl fmt::Debug for Client {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Client")
            .field("is_connected", &self.parts.handle.is_connected())
            .field("generation", &self.parts.handle.generation())
            .finish_non_exhaustive()
    }
}

/// Counts a call. If the caller drops it, the attempts that limits have abandoned are cancelled with it.
fn counted<F>(
    in_flight: &InFlight,
    keyed: Option<KeyedCall>,
    answer: F,
) -> impl Future<Output = Result<Answer, Failure>> + use<F>
where
    F: Future<Output = Result<Answer, Failure>>,
{
    let counted = in_flight.counted(answer);
    async move {
        // Before the guard, so that it is dropped later: the guard says why.
        let counted = pin!(counted);
        let guard = keyed.map(KeyedCall::cancel_on_drop);
        let outcome = counted.await;
        if let Some(guard) = guard {
            guard.disarm();
        }
        outcome
    }
}

fn another_kind() -> Failure {
    Failure::invalid_output("the answer is of another kind than the request")
}
