use super::{
    ResilientLayer, ServerAnswer, ServerCall, incoming::Incoming, queue::queue, refused::Refusals,
};
use crate::{
    failure::BoxError,
    fatal::{Fatal, startup::OrFatal},
    serve::{self, CLOSE, Lifetime, MOMENT, Noting, Stop},
};
use ::tower_mcp::{Error, StdioTransport};
use std::{future::ready, pin::pin, time::Duration};
use tokio::{
    io::{AsyncRead, AsyncWrite},
    time::{sleep, timeout},
};
use tower::Service;

impl<S> ResilientLayer<S>
where
    S: Service<ServerCall, Response = ServerAnswer> + Clone + Send + Sync + 'static,
    S::Error: Into<BoxError> + Send,
    S::Future: Send,
{
    /// Serves one client over stdin and stdout, until the client leaves, a signal comes, or there is
    /// a fatal failure.
    ///
    /// The same as [`run_with_stop`](Self::run_with_stop) with [`Stop::signals`]. The exit codes are
    /// those of a `main` that returns the result.
    ///
    /// | End | New calls | Running calls | Result | Exit code |
    /// |---|---|---|---|---|
    /// | the client leaves (stdin ends) | none | get the [grace](Self::grace) of 10 s, then are cut off and answered | `Ok` | 0 |
    /// | SIGTERM, SIGINT, SIGHUP | refused | the same | `Ok` | 0 |
    /// | a second signal | refused | are cut off at once and answered | `Ok` | 0 |
    /// | a fatal failure | answered with the cause | as after a signal | `Err` | 1 |
    /// | stdin cannot be read, or a line is longer than the transport allows | none | are dropped | `Err` | 1 |
    ///
    /// After the running calls have ended, the server reads for 200 ms more, to refuse and log
    /// requests that are on their way. Then the answers have 2 s to be sent. A handler that blocks
    /// its thread is abandoned; dropping the runtime waits for such a thread.
    ///
    /// stdin and stdout are read and written on threads that do not delay the end of the process,
    /// whatever [`StdioTransport::pipes`] says.
    ///
    /// Dropping the future stops reading. Running calls are not dropped with it, since tower-mcp runs
    /// them in tasks of their own.
    ///
    /// # Errors
    ///
    /// The reason to end the process: the fatal failure, or the failure of the transport. A `main`
    /// that returns it prints it on stderr. If stderr has no reader, that print can block.
    /// [`Fatal::exit`] waits 1 s at most.
    pub async fn run(self, transport: StdioTransport) -> Result<(), Fatal> {
        self.run_with_stop(transport, Stop::signals()).await
    }

    /// Serves one client as [`run`](Self::run) does, with a [`Stop`] in place of the signals:
    /// [`Stop::never`], or a future.
    ///
    /// # Errors
    ///
    /// As [`run`](Self::run).
    pub async fn run_with_stop(
        self,
        transport: StdioTransport,
        stop: impl Into<Stop>,
    ) -> Result<(), Fatal> {
        let life = self.life.clone();
        let serving = self.serve_one(transport, stop.into(), serve::stdio());
        let outcome = Box::pin(serving).await;
        life.conclude(outcome).await
    }

    async fn serve_one(
        mut self,
        transport: StdioTransport,
        mut stop: Stop,
        (stdin, stdout): (impl AsyncRead + Unpin + Send, impl AsyncWrite + Unpin),
    ) -> Result<(), Fatal> {
        let life = self.life.clone();
        // Of this client alone: other servers on clones of the layer have ids of their own.
        let incoming = Incoming::default();
        self.incoming = incoming.clone();
        self.keys_arrive = true;
        let mut transport = transport.layer(self.clone());
        let handle = transport.handle();
        let (refusals, refused) = Refusals::of(&incoming);
        let (answers, written) = queue(stdout, refusals);
        let serving = transport.run_with_streams(incoming.reading(stdin), answers);
        let serving = async move {
            let mut written = pin!(written);
            let ended = tokio::select! {
                ended = serving => ended,
                // The client does not read any more: it has left.
                _ = written.as_mut() => return Ok(()),
            };
            // Those that are still in the queue.
            match written.await {
                Ok(()) => ended,
                Err(_) => Ok(()),
            }
        };
        let mut noting = Noting::new(refused, move |call| {
            let layer = self.clone();
            async move { layer.note(call).await }
        });
        let mut serving = pin!(async move {
            let ended = tokio::select! {
                ended = serving => ended,
                never = noting.go_on() => never,
            };
            noting.end().await;
            ended
        });
        let (told, grace) = tokio::select! {
            ended = serving.as_mut() => return has_ended(&life, ended).await,
            cause = life.fatal.wait() => (Err(cause), life.grace),
            () = stop.next() => (Ok(()), life.grace),
            // The client has left. Earlier requests are still answered.
            () = async {
                handle.stopping().await;
                sleep(life.grace).await;
            } => (Ok(()), Duration::ZERO),
        };
        let end = async {
            life.running.end(grace, stop.next()).await;
            sleep(MOMENT).await;
        };
        tokio::select! {
            // The client left in the meantime.
            ended = serving.as_mut() => {
                life.running.end(Duration::ZERO, ready(())).await;
                return told.and(check(ended));
            }
            () = end => {}
        }
        // An error: it has stopped by itself.
        let _ = handle.shutdown();
        match timeout(CLOSE, serving).await {
            Ok(ended) => told.and(check(ended)),
            Err(_) => told,
        }
    }
}

async fn has_ended(life: &Lifetime, ended: Result<(), Error>) -> Result<(), Fatal> {
    life.running.notice().await;
    check(ended)
}

fn check(ended: Result<(), Error>) -> Result<(), Fatal> {
    ended.or_fatal("cannot serve the client")
}

#[cfg(test)]
mod tests;
