use super::{Resilient, ServerCall};
use crate::{
    failure::{BoxError, Class, Failure},
    fatal::{Fatal, startup::OrFatal},
    rmcp::Answer,
};
use ::rmcp::{
    RoleServer, ServerHandler, ServiceExt, service::ServerInitializeError, transport::IntoTransport,
};
use std::{
    error::Error,
    fmt, io,
    pin::{Pin, pin},
    task::{Context, Poll},
    time::Duration,
};
use tokio::{
    sync::oneshot,
    time::{sleep, timeout},
};
use tower::Service;

/// How long the calls that run at the end of a server may still take; and then, how long whatever
/// is still in the way.
const GRACE: Duration = Duration::from_secs(2);

/// How long answers may take to leave: rmcp does not tell when they have.
const LEAVE: Duration = Duration::from_millis(200);

impl<H, S> Resilient<H, S>
where
    H: ServerHandler,
    S: Service<ServerCall, Response = Answer> + Clone + Send + Sync + 'static,
    S::Error: Into<BoxError> + Send,
    S::Future: Send,
{
    /// Serves one client over a transport, until it leaves, or until the first fatal failure.
    ///
    /// A client that leaves is a normal end, also one that leaves before it said anything; calls
    /// that run then have the time that rmcp gives them, five seconds. After a fatal failure they
    /// have two, and then two more for their answers to leave, which takes for ever where nobody
    /// reads.
    ///
    /// # Errors
    ///
    /// The reason for which the process has to end. Over stdio, let it end by
    /// [`Fatal::exit`]: tokio reads stdin on a thread that nothing can stop, and a runtime that
    /// is dropped waits for it.
    pub async fn run<T, E, A>(self, transport: T) -> Result<(), Fatal>
    where
        T: IntoTransport<RoleServer, E, A>,
        E: Error + Send + Sync + 'static,
    {
        let server = self.clone();
        let outcome = server.serve_one(transport).await;
        self.flush().await;
        // A client may have left on account of the fatal failure.
        match self.fatal.cause() {
            Some(cause) => Err(cause),
            None => outcome,
        }
    }

    async fn serve_one<T, E, A>(self, transport: T) -> Result<(), Fatal>
    where
        T: IntoTransport<RoleServer, E, A>,
        E: Error + Send + Sync + 'static,
    {
        let server = self.clone();
        let mut end = pin!(server.fatal.wait());
        let running = tokio::select! {
            serving = self.serve(transport) => match serving {
                Ok(running) => running,
                Err(error) if is_leaving(&error) => return Ok(()),
                Err(error) => return Err(error).or_fatal("cannot serve the client"),
            },
            cause = end.as_mut() => return Err(cause),
        };
        let token = running.cancellation_token();
        let mut waiting = pin!(running.waiting());
        tokio::select! {
            _ = waiting.as_mut() => Ok(()),
            cause = end => {
                // Before the token, which would cut them off; rmcp then sends the answers.
                server.running.end(GRACE).await;
                token.cancel();
                let _ = timeout(GRACE, waiting).await;
                Err(cause)
            }
        }
    }

    /// Serves any number of clients, as over HTTP, until a signal comes, or the first fatal
    /// failure; then in order: new calls are refused, those that run have two seconds, their
    /// answers leave, `end_sessions` ends the streams that would stay open for ever, and the
    /// server itself has two more seconds to end, whatever its clients do.
    ///
    /// `serve` gets what a graceful shutdown waits for.
    ///
    /// # Errors
    ///
    /// The reason for which the process has to end: the fatal failure, or the server's own error.
    ///
    /// # Example
    ///
    /// ```no_run
    /// use mcp_resilience::{fatal::{Fatal, startup::OrFatal}, rmcp::Resilient};
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
    ///     let signal = async {
    ///         let _ = tokio::signal::ctrl_c().await;
    ///     };
    ///     server
    ///         .run_until(signal, move || sessions.cancel(), async |shutdown| {
    ///             axum::serve(listener, router).with_graceful_shutdown(shutdown).await
    ///         })
    ///         .await
    /// }
    /// ```
    pub async fn run_until<F, E>(
        self,
        signal: impl Future<Output = ()> + Send + 'static,
        end_sessions: impl FnOnce() + Send + 'static,
        serve: impl FnOnce(Shutdown) -> F,
    ) -> Result<(), Fatal>
    where
        F: Future<Output = Result<(), E>>,
        E: Into<BoxError>,
    {
        let server = self.clone();
        let (begin_end, end_begun) = oneshot::channel();
        let (sessions_end, sessions_ended) = oneshot::channel();
        let shutdown = async move {
            tokio::select! {
                _ = server.fatal.wait() => {}
                () = signal => {}
            }
            // Nobody waits for it any more if the server is gone already.
            let _ = begin_end.send(());
            server.running.end(GRACE).await;
            sleep(LEAVE).await;
            end_sessions();
            let _ = sessions_end.send(());
        };
        let overdue = async {
            // An error: the server dropped the shutdown, and ends for a reason of its own.
            if end_begun.await.is_err() {
                std::future::pending::<()>().await;
            }
            // Or the server dropped the shutdown meanwhile.
            let _ = sessions_ended.await;
            sleep(GRACE).await;
        };
        let outcome = tokio::select! {
            outcome = serve(Shutdown(Box::pin(shutdown))) => outcome.or_fatal("cannot serve"),
            () = overdue => Ok(()),
        };
        self.flush().await;
        match self.fatal.cause() {
            Some(cause) => Err(cause),
            None => outcome,
        }
    }
}

/// Whether the client is gone before the handshake was over; also where that shows only when its
/// answer cannot be written.
fn is_leaving(error: &ServerInitializeError) -> bool {
    match error {
        ServerInitializeError::ConnectionClosed(_) => true,
        ServerInitializeError::TransportError { error, .. } => {
            let error = error.error.downcast_ref::<io::Error>();
            let named = error.map(|error| Failure::from(io::Error::from(error.kind())));
            named.is_some_and(|failure| failure.class() == Class::Connection)
        }
        _ => false,
    }
}

/// Ends when a server is to stop serving: see [`Resilient::run_until`].
pub struct Shutdown(Pin<Box<dyn Future<Output = ()> + Send>>);

impl Future for Shutdown {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        self.0.as_mut().poll(cx)
    }
}

impl fmt::Debug for Shutdown {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Shutdown").finish_non_exhaustive()
    }
}
