use super::{Resilient, ServerCall, Shutdown, Stop};
use crate::{failure::BoxError, fatal::Fatal, rmcp::ServerAnswer};
use ::rmcp::ServerHandler;
use tower::Service;

impl<H, S> Resilient<H, S>
where
    H: ServerHandler,
    S: Service<ServerCall, Response = ServerAnswer> + Clone + Send + Sync + 'static,
    S::Error: Into<BoxError> + Send,
    S::Future: Send,
{
    /// Serves any number of clients, as over HTTP, until the [`Stop`] or the first fatal failure. At
    /// the end:
    ///
    /// 1. New calls are refused, and running calls get the [grace](Self::grace) of 10 s. A second
    ///    signal ends the grace.
    /// 2. The rest is cut off and answered. The answers have 200 ms to be sent.
    /// 3. `end_sessions` ends the streams that would stay open for ever.
    /// 4. The server has 2 s to end, even if its clients stay.
    ///
    /// `serve` gets the future that a graceful shutdown waits for. Dropping the future of `run_until`
    /// drops that of `serve`, and nothing else.
    ///
    /// # Errors
    ///
    /// The reason to end the process: the fatal failure, or the server's own error.
    ///
    /// # Example
    ///
    /// ```no_run
    /// use mcp_resilience::{fatal::{Fatal, startup::OrFatal}, rmcp::{Resilient, Stop}};
    /// use rmcp::transport::{
    ///     StreamableHttpServerConfig, StreamableHttpService,
    ///     streamable_http_server::session::local::LocalSessionManager,
    /// };
    /// # struct Bookshop;
    /// # impl rmcp::ServerHandler for Bookshop {}
    ///
    /// #[tokio::main]
    /// async fn main() -> Result<(), Fatal> {
    ///     // Made once: all sessions share the budget, the log and the end.
    ///     let server = Resilient::new(Bookshop);
    ///     let config = StreamableHttpServerConfig::default();
    ///     let sessions = config.cancellation_token.clone();
    ///     let handler = server.clone();
    ///     let service = StreamableHttpService::new(
    ///         move || Ok(handler.clone()),
    ///         LocalSessionManager::default().into(),
    ///         config,
    ///     );
    ///     let router = axum::Router::new().nest_service("/mcp", service);
    ///     let listener = tokio::net::TcpListener::bind("127.0.0.1:8000")
    ///         .await
    ///         .or_fatal("cannot listen on port 8000")?;
    ///     server
    ///         .run_until(Stop::signals(), move || sessions.cancel(), async |shutdown| {
    ///             axum::serve(listener, router).with_graceful_shutdown(shutdown).await
    ///         })
    ///         .await
    /// }
    /// ```
    pub async fn run_until<F, E>(
        self,
        stop: impl Into<Stop>,
        end_sessions: impl FnOnce() + Send + 'static,
        serve: impl FnOnce(Shutdown) -> F,
    ) -> Result<(), Fatal>
    where
        F: Future<Output = Result<(), E>>,
        E: Into<BoxError>,
    {
        self.life.until(stop.into(), end_sessions, serve).await
    }
}
