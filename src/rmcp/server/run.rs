use super::{
    Resilient, ServerCall, Shutdown, Stop,
    early::Early,
    progress::Wire,
    recognize::{Recognized, recognize},
};
use crate::{
    failure::{BoxError, Class, Failure},
    fatal::{Fatal, startup::OrFatal},
    rmcp::ServerAnswer,
    serve::{CLOSE, MOMENT, Noting},
};
use ::rmcp::{
    RoleServer, ServerHandler, ServiceExt,
    service::{QuitReason, ServerInitializeError},
    transport::IntoTransport,
};
use std::{error::Error, future::ready, io, pin::pin, time::Duration};
use tokio::{
    task::JoinError,
    time::{sleep, timeout},
};
use tower::Service;

impl<H, S> Resilient<H, S>
where
    H: ServerHandler,
    S: Service<ServerCall, Response = ServerAnswer> + Clone + Send + Sync + 'static,
    S::Error: Into<BoxError> + Send,
    S::Future: Send,
{
    /// Serves one client over a transport, until the client leaves, a signal comes, or there is a
    /// fatal failure.
    ///
    /// The same as [`run_with_stop`](Self::run_with_stop) with [`Stop::signals`]. The exit codes are
    /// those of a `main` that returns the result.
    ///
    /// | End | New calls | Running calls | Result | Exit code |
    /// |---|---|---|---|---|
    /// | the client leaves (stdin ends) | none | get 10 s (after 5 s without progress and requests to the client, which rmcp ends), then are dropped: `cancelled` in the log; runs with a [key](crate::idempotency) get the [grace](Self::grace) on top | `Ok` | 0 |
    /// | SIGTERM, SIGINT, SIGHUP | refused | get the [grace](Self::grace) of 10 s, then are cut off and answered | `Ok` | 0 |
    /// | a second signal | refused | are cut off at once and answered | `Ok` | 0 |
    /// | a fatal failure | answered with the cause | as after a signal | `Err` | 1 |
    /// | rmcp fails | none | are dropped | `Err` | 1 |
    ///
    /// After the running calls have ended, the server reads for 200 ms more, to refuse and log
    /// requests that are on their way. Then the answers have 2 s to be sent. A handler that blocks
    /// its thread is abandoned; dropping the runtime waits for such a thread.
    ///
    /// rmcp's `stdio()`, and any other pair of tokio's stdin and stdout, is read and written on
    /// threads that do not delay the end of the process. See [`stdio`](super::stdio()) for transports
    /// that wrap the pair.
    ///
    /// Dropping the future closes the connection: rmcp gives the running calls 2 s and drops them.
    ///
    /// # Errors
    ///
    /// The reason to end the process: the fatal failure, or the failure of rmcp's service loop. A
    /// `main` that returns it prints it on stderr. If stderr has no reader, that print can block.
    /// [`Fatal::exit`] waits 1 s at most.
    pub async fn run<T, E, A>(self, transport: T) -> Result<(), Fatal>
    where
        T: IntoTransport<RoleServer, E, A>,
        E: Error + Send + Sync + 'static,
    {
        self.run_with_stop(transport, Stop::signals()).await
    }

    /// Serves one client as [`run`](Self::run) does, with a [`Stop`] in place of the signals:
    /// [`Stop::never`], or a future.
    ///
    /// ```no_run
    /// # use mcp_resilience::{fatal::Fatal, rmcp::{Resilient, stdio}};
    /// # struct Bookshop;
    /// # impl rmcp::ServerHandler for Bookshop {}
    /// # async fn run(stop: tokio::sync::oneshot::Receiver<()>) -> Result<(), Fatal> {
    /// let stop = async {
    ///     let _ = stop.await;
    /// };
    /// Resilient::new(Bookshop).run_with_stop(stdio(), stop).await
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// As [`run`](Self::run).
    pub async fn run_with_stop<T, E, A>(
        self,
        transport: T,
        stop: impl Into<Stop>,
    ) -> Result<(), Fatal>
    where
        T: IntoTransport<RoleServer, E, A>,
        E: Error + Send + Sync + 'static,
    {
        let (server, stop) = (self.clone(), stop.into());
        let outcome = match recognize(transport) {
            Recognized::Streams(streams) => Box::pin(server.serve_one(*streams, stop)).await,
            Recognized::Other(transport) => Box::pin(server.serve_one(transport, stop)).await,
        };
        self.life.conclude(outcome).await
    }

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

    async fn serve_one<T, E, A>(self, transport: T, mut stop: Stop) -> Result<(), Fatal>
    where
        T: IntoTransport<RoleServer, E, A>,
        E: Error + Send + Sync + 'static,
    {
        let life = self.life.clone();
        let mut fatal = pin!(life.fatal.wait());
        let (transport, refused) = Early::new(transport.into_transport());
        let server = self.clone();
        let mut noting = Noting::new(refused, move |call| {
            let server = server.clone();
            async move { server.note_early(call).await }
        });
        let mut serving = pin!(self.serve(Wire::new(transport)));
        let mut end = None;
        let handshake = tokio::select! {
            handshake = serving.as_mut() => Ok(handshake),
            cause = fatal.as_mut() => Err(Err(cause)),
            () = stop.next() => Err(Ok(())),
            never = noting.go_on() => never,
        };
        noting.end().await;
        let handshake = match handshake {
            Ok(handshake) => handshake,
            Err(told) => match timeout(MOMENT, serving).await {
                // The client may have its answer already, and may have sent calls.
                Ok(handshake) => {
                    end = Some(told);
                    handshake
                }
                Err(_) => return told,
            },
        };
        let connection = match handshake {
            Ok(connection) => connection,
            Err(error) if is_leaving(&error) => return end.unwrap_or(Ok(())),
            Err(error) => return Err(error).or_fatal("cannot serve the client"),
        };
        let token = connection.cancellation_token();
        let mut closed = pin!(connection.waiting());
        let outcome = if let Some(told) = end {
            told
        } else {
            tokio::select! {
                reason = closed.as_mut() => {
                    // rmcp has cancelled the calls. Each writes its line.
                    life.running.notice().await;
                    if life.running.goes_on_alone() {
                        life.running.end(life.grace, stop.next()).await;
                    }
                    return check(reason);
                }
                cause = fatal => Err(cause),
                () = stop.next() => Ok(()),
            }
        };
        let end = async {
            life.running.end(life.grace, stop.next()).await;
            sleep(MOMENT).await;
        };
        tokio::select! {
            // The client left in the meantime.
            reason = closed.as_mut() => {
                life.running.end(Duration::ZERO, ready(())).await;
                outcome.and(check(reason))
            }
            () = end => {
                // Not earlier, since it would cut off the calls. rmcp then sends the last answers.
                token.cancel();
                match timeout(CLOSE, closed).await {
                    Ok(reason) => outcome.and(check(reason)),
                    Err(_) => outcome,
                }
            }
        }
    }
}

/// Whether rmcp's service loop ended normally.
fn check(reason: Result<QuitReason, JoinError>) -> Result<(), Fatal> {
    match reason {
        Ok(QuitReason::JoinError(error)) | Err(error) => {
            Err(error).or_fatal("the service loop of the connection failed")
        }
        Ok(_) => Ok(()),
    }
}

/// Whether the client left before the end of the handshake. This may show only when its answer cannot
/// be written.
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
