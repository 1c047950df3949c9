use super::{Resilient, ServerAnswer, ServerCall};
use crate::{
    failure::BoxError,
    fatal::{Fatal, FatalHandle},
};
use ::rmcp::{
    RoleServer, ServerHandler, ServiceExt, service::ServerInitializeError, transport::IntoTransport,
};
use std::{
    error::Error,
    future::{pending, poll_fn},
    pin::pin,
    task::Poll,
    time::Duration,
};
use tower::Service;

/// How long the calls that run at a fatal failure may still take.
const GRACE: Duration = Duration::from_secs(2);

impl<H, S> Resilient<H, S>
where
    H: ServerHandler,
    S: Service<ServerCall, Response = ServerAnswer> + Clone + Send + Sync + 'static,
    S::Error: Into<BoxError> + Send,
    S::Future: Send,
{
    /// Serves one client over a transport, until it leaves, or until the first fatal failure.
    ///
    /// A client that leaves is a normal end, also one that leaves before it said anything. After a
    /// fatal failure the calls that run have two seconds to end, and their answers are sent.
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
        let end = async {
            match &server.fatal {
                Some(fatal) => fatal.wait().await,
                None => pending().await,
            }
        };
        let mut end = pin!(end);
        let outcome = match first(self.serve(transport), end.as_mut()).await {
            Err(cause) => Err(cause),
            Ok(Err(ServerInitializeError::ConnectionClosed(_))) => Ok(()),
            Ok(Err(error)) => Err(Fatal::new("cannot serve the client").because(error)),
            Ok(Ok(running)) => {
                let token = running.cancellation_token();
                let mut waiting = pin!(running.waiting());
                match first(waiting.as_mut(), end).await {
                    // It may have left on account of the fatal failure.
                    Ok(_) => match server.fatal.as_ref().and_then(FatalHandle::cause) {
                        Some(cause) => Err(cause),
                        None => Ok(()),
                    },
                    Err(cause) => {
                        // Before the token, which would cut them off; rmcp then sends the answers.
                        server.drain(GRACE).await;
                        token.cancel();
                        let _ = waiting.await;
                        Err(cause)
                    }
                }
            }
        };
        server.flush();
        outcome
    }
}

/// What `future` gives, or the cause that came before it.
async fn first<T>(
    future: impl Future<Output = T>,
    mut end: std::pin::Pin<&mut impl Future<Output = Fatal>>,
) -> Result<T, Fatal> {
    let mut future = pin!(future);
    poll_fn(|cx| match future.as_mut().poll(cx) {
        Poll::Ready(value) => Poll::Ready(Ok(value)),
        Poll::Pending => end.as_mut().poll(cx).map(Err),
    })
    .await
}
