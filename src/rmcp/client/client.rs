use super::{Catalog, ClientBuilder, ClientCall, Connection, Connector, census::Census, dial};
use crate::{
    failure::Failure,
    preset::{self, Connected},
    reconnect::ReconnectHandle,
    rmcp::{Answer, Request},
};
use ::rmcp::model::{
    CallToolRequestParams, CallToolResponse, GetPromptRequestParams, GetPromptResponse,
    ReadResourceRequestParams, ReadResourceResponse, Tool,
};
use std::{
    fmt,
    sync::Arc,
    task::{Context, Poll},
    time::Duration,
};
use tokio::time;
use tower::{Service, ServiceExt};

/// The longest that the last connection takes to close: a child process has two signals to wait for.
const LAST_CONNECTION: Duration = Duration::from_secs(8);

/// The longest that a list of tools is waited for, where no dial limits it.
const LIST: Duration = Duration::from_secs(10);

type Stack = Connected<Connection>;
type Handle = ReconnectHandle<preset::Connection<Connection>>;

/// A server, with all layers around it and a connection that comes back.
///
/// Clones share everything. As a service it takes requests of rmcp's own types, and gives
/// [`Answer`]; the methods below spare the unwrapping. Each call ends as the
/// [preset](crate::preset) says: within its limits, with a result, a flagged result, or an error
/// for the host.
///
/// Dropping a call cancels it at the server. Dropping the last clone closes the connection in the
/// background; [`close`](Self::close) waits for that.
#[derive(Clone)]
pub struct Client {
    parts: Parts,
}

#[derive(Clone)]
pub(super) struct Parts {
    pub(super) stack: Stack,
    pub(super) handle: Handle,
    pub(super) catalog: Catalog,
    pub(super) census: Census,
}

impl Client {
    /// With other settings than the defaults.
    pub fn builder<C: Connector>(connector: C) -> ClientBuilder<C> {
        ClientBuilder::new(connector)
    }

    /// With the defaults of all layers, and connected.
    ///
    /// # Errors
    ///
    /// Those of [`ClientBuilder::connect`].
    pub async fn connect<C: Connector>(connector: C) -> Result<Self, Failure> {
        Self::builder(connector).connect().await
    }

    pub(super) fn new(parts: Parts) -> Self {
        Self { parts }
    }

    /// Calls a tool. A request of the server for more input is an answer.
    ///
    /// # Errors
    ///
    /// Those that no flagged result stands for: a deliberate JSON-RPC error, a fatal failure.
    pub async fn call_tool(
        &self,
        params: impl Into<CallToolRequestParams>,
    ) -> Result<CallToolResponse, Failure> {
        match self.send(params.into()).await? {
            Answer::Tool(response) => Ok(response),
            Answer::Resource(_) | Answer::Prompt(_) => Err(another_kind()),
        }
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
        match self.send(params.into()).await? {
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
        match self.send(params.into()).await? {
            Answer::Prompt(response) => Ok(response),
            Answer::Tool(_) | Answer::Resource(_) => Err(another_kind()),
        }
    }

    async fn send(&self, request: impl Into<Request>) -> Result<Answer, Failure> {
        let call = self.parts.catalog.call(request);
        self.parts.stack.clone().oneshot(call).await
    }

    /// The server's tools, as it listed them at the last dial.
    #[must_use]
    pub fn tools(&self) -> Arc<[Tool]> {
        self.parts.catalog.tools()
    }

    /// What is known of the tools.
    #[must_use]
    pub fn catalog(&self) -> &Catalog {
        &self.parts.catalog
    }

    /// What watches the connection.
    #[must_use]
    pub fn handle(&self) -> &Handle {
        &self.parts.handle
    }

    /// The connection of now, past all layers: for what is no call, as completions, subscriptions
    /// and lists. None while there is none. It stays open for as long as it is held.
    #[must_use]
    pub fn connection(&self) -> Option<Connection> {
        let connection = self.parts.handle.connection()?;
        Some(connection.get_ref().get_ref().clone())
    }

    /// Reads the list of tools again: for a handler that is told that it changed.
    ///
    /// # Errors
    ///
    /// `Connection`, where there is none. A server that does not list its tools is no error: then
    /// nothing is known of them.
    pub async fn refresh(&self) -> Result<(), Failure> {
        let Some(connection) = self.connection() else {
            return Err(Failure::connection(
                "there is no connection to the tool server",
            ));
        };
        let tools = dial::list(connection.peer(), LIST).await?;
        self.parts.catalog.fill(tools);
        Ok(())
    }

    /// Ends the connection: calls that begin later, or wait for one, end at once; those that run go
    /// on, and are waited for. Then the server is told, and a child process ended: that takes up to
    /// 8 s.
    ///
    /// Dropping the future ends nothing of that, and waits for nothing.
    pub async fn close(self) {
        self.parts.handle.shutdown();
        let Parts { census, .. } = self.parts;
        census.no_call().await;
        // A child that takes longer was killed; or somebody holds the connection.
        let _ = time::timeout(LAST_CONNECTION, census.none_open()).await;
    }
}

impl<R: Into<Request>> Service<R> for Client {
    type Response = Answer;
    type Error = Failure;
    type Future = <Stack as Service<ClientCall>>::Future;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Failure>> {
        self.parts.stack.poll_ready(cx)
    }

    fn call(&mut self, request: R) -> Self::Future {
        let call = self.parts.catalog.call(request);
        self.parts.stack.call(call)
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

fn another_kind() -> Failure {
    Failure::invalid_output("the answer is of another kind than the request")
}
