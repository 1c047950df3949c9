use super::{ClientBuilder, ClientCall, Connection, Connector, Request, connection::InFlight};
use crate::{
    call::ToolCall,
    failure::Failure,
    preset::{self, Connected},
    reconnect::ReconnectHandle,
    serve::{Learned, Running},
};
use ::tower_mcp::{
    Error,
    client::{ClientHandler, ClientTransport},
    protocol::{
        CallToolParams, CallToolResult, GetPromptParams, GetPromptResult, McpResponse,
        ReadResourceParams, ReadResourceResult,
    },
};
use serde_json::Value;
use std::{
    collections::HashMap,
    fmt,
    pin::Pin,
    task::{Context, Poll},
    time::Duration,
};
use tokio::time::timeout;
use tower::{Service, ServiceExt};

/// How long [`Client::close`] waits for running calls.
const CALLS: Duration = Duration::from_secs(10);

/// How long it then waits for the connection: a child process gets time to end.
const CONNECTION: Duration = Duration::from_secs(8);

type Handle = ReconnectHandle<preset::Connection<Connection>>;

/// A client of one server: a connection that comes back, with all layers around it.
///
/// Clones share everything. As a service it takes requests of tower-mcp's own types. Dropping a call
/// cancels it at the server. Dropping the last clone closes the connection in the background;
/// [`close`](Self::close) waits for that.
///
/// ```no_run
/// use mcp_resilience::{Failure, tower_mcp::client::{Client, Connector}};
/// use serde_json::json;
/// use tower_mcp::client::StdioClientTransport;
///
/// # async fn run() -> Result<(), Failure> {
/// let client = Client::connect(Connector::new(|| StdioClientTransport::spawn("bookshop", &[]))).await?;
/// let author = client.call_tool("get_author", json!({"title": "Dune"})).await?;
/// # let _ = author;
/// client.close().await;
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct Client {
    stack: Connected<Connection>,
    handle: Handle,
    learned: Learned,
    in_flight: InFlight,
    running: Running,
}

impl Client {
    /// A client with other settings.
    pub fn builder<F, H, Fut, T>(connector: Connector<F, H>) -> ClientBuilder<F, H>
    where
        F: Fn() -> Fut + Clone + Send + 'static,
        Fut: Future<Output = Result<T, Error>> + Send + 'static,
        T: ClientTransport,
        H: ClientHandler + Clone,
    {
        ClientBuilder::new(connector)
    }

    /// A client with the defaults of all layers, connected.
    ///
    /// # Errors
    ///
    /// Those of [`ClientBuilder::connect`].
    pub async fn connect<F, H, Fut, T>(connector: Connector<F, H>) -> Result<Self, Failure>
    where
        F: Fn() -> Fut + Clone + Send + 'static,
        Fut: Future<Output = Result<T, Error>> + Send + 'static,
        T: ClientTransport,
        H: ClientHandler + Clone,
    {
        Self::builder(connector).connect().await
    }

    pub(super) fn new(
        stack: Connected<Connection>,
        handle: Handle,
        learned: Learned,
        in_flight: InFlight,
    ) -> Self {
        Self {
            stack,
            handle,
            learned,
            in_flight,
            running: Running::default(),
        }
    }

    /// Makes a request. If the server asks for input or makes a task, that is the answer.
    ///
    /// # Errors
    ///
    /// A failure that no flagged result carries: a deliberate JSON-RPC error, a fatal failure, and
    /// every failure of a resource or a prompt.
    pub async fn call(&self, request: impl Into<Request>) -> Result<McpResponse, Failure> {
        let _running = self.running.one_more();
        let call = self.known(request.into());
        tokio::select! {
            biased;
            answer = self.stack.clone().oneshot(call) => answer,
            () = self.running.cut_off() => Err(Failure::cancelled("the client was closed")),
        }
    }

    /// Calls a tool.
    ///
    /// # Errors
    ///
    /// Those of [`call`](Self::call), and an answer that is not a result.
    pub async fn call_tool(
        &self,
        name: impl Into<String>,
        arguments: Value,
    ) -> Result<CallToolResult, Failure> {
        let params = CallToolParams {
            name: name.into(),
            arguments,
            input_responses: None,
            request_state: None,
            meta: None,
            task: None,
        };
        match self.call(params).await? {
            McpResponse::CallTool(result) => Ok(result),
            _ => Err(no_result()),
        }
    }

    /// Reads a resource.
    ///
    /// # Errors
    ///
    /// Those of [`call`](Self::call), and an answer that is not a result.
    pub async fn read_resource(
        &self,
        uri: impl Into<String>,
    ) -> Result<ReadResourceResult, Failure> {
        let params = ReadResourceParams {
            uri: uri.into(),
            input_responses: None,
            request_state: None,
            meta: None,
        };
        match self.call(params).await? {
            McpResponse::ReadResource(result) => Ok(result),
            _ => Err(no_result()),
        }
    }

    /// Gets a prompt.
    ///
    /// # Errors
    ///
    /// Those of [`call`](Self::call), and an answer that is not a result.
    pub async fn get_prompt(
        &self,
        name: impl Into<String>,
        arguments: HashMap<String, String>,
    ) -> Result<GetPromptResult, Failure> {
        let params = GetPromptParams {
            name: name.into(),
            arguments,
            input_responses: None,
            request_state: None,
            meta: None,
        };
        match self.call(params).await? {
            McpResponse::GetPrompt(result) => Ok(result),
            _ => Err(no_result()),
        }
    }

    fn known(&self, request: Request) -> ClientCall {
        let hints = self.learned.get(request.name()).unwrap_or_default();
        ClientCall::new(request, hints)
    }

    /// The handle, which watches the connection and can end it. Make requests other than calls by its
    /// [`with`](ReconnectHandle::with).
    #[must_use]
    pub fn handle(&self) -> &Handle {
        &self.handle
    }

    /// The current connection, without the layers. `None` without a connection.
    #[must_use]
    pub fn connection(&self) -> Option<Connection> {
        let made = self.handle.connection()?;
        Some(made.get_ref().get_ref().clone())
    }

    /// Ends the connection. Calls that wait for one end at once. Running calls get 10 s, and then
    /// fail as `Cancelled`. After that the server is told, and a child process ended, which takes up
    /// to 8 s.
    ///
    /// Dropping the future stops only the waiting.
    pub async fn close(self) {
        let Self {
            stack,
            handle,
            in_flight,
            running,
            ..
        } = self;
        handle.shutdown();
        drop(stack);
        running.end(CALLS, std::future::pending()).await;
        // Afterwards, other code may still hold the connection.
        let _ = timeout(CONNECTION, in_flight.none()).await;
    }
}

fn no_result() -> Failure {
    Failure::invalid_output("the answer is no result: make the request by `Client::call`")
}

impl<R: Into<Request>> Service<R> for Client {
    type Response = McpResponse;
    type Error = Failure;
    type Future = Pin<Box<dyn Future<Output = Result<McpResponse, Failure>> + Send>>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Failure>> {
        self.stack.poll_ready(cx)
    }

    fn call(&mut self, request: R) -> Self::Future {
        let request = request.into();
        let call = self.known(request);
        let counted = self.running.one_more();
        let running = self.running.clone();
        let answer = self.stack.call(call);
        Box::pin(async move {
            let _counted = counted;
            tokio::select! {
                biased;
                answer = answer => answer,
                () = running.cut_off() => Err(Failure::cancelled("the client was closed")),
            }
        })
    }
}

impl fmt::Debug for Client {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Client")
            .field("is_connected", &self.handle.is_connected())
            .field("generation", &self.handle.generation())
            .finish_non_exhaustive()
    }
}
