use super::{Running, Shutdown, Stop};
use crate::{
    call_log::Sink,
    failure::BoxError,
    fatal::{Fatal, FatalHandle, FatalLayer, startup::OrFatal},
};
use std::{future::pending, sync::Arc, time::Duration};
use tokio::{sync::oneshot, time::sleep};

/// How long requests and answers that are on their way at the end have to arrive: no SDK says when
/// they have.
pub(crate) const MOMENT: Duration = Duration::from_millis(200);

/// How long a transport or a server may delay the end.
pub(crate) const CLOSE: Duration = Duration::from_secs(2);

/// How long the last lines of the log may take.
const LAST_FLUSH: Duration = Duration::from_secs(1);

/// The default time for running calls at the end of a server. Docker and most clients kill a process
/// 10 s after SIGTERM or later.
const GRACE: Duration = Duration::from_secs(10);

/// When a server ends, and what it waits for. Clones are for the same server.
#[derive(Clone)]
pub(crate) struct Lifetime {
    pub(crate) fatal: FatalHandle,
    pub(crate) running: Running,
    pub(crate) grace: Duration,
    pub(crate) log: Option<Arc<dyn Sink>>,
}

impl Lifetime {
    pub(crate) fn new() -> Self {
        Self {
            fatal: FatalLayer::new().handle(),
            running: Running::default(),
            grace: GRACE,
            log: None,
        }
    }

    /// Stops serving calls, and writes the log.
    pub(crate) async fn drain(&self, at_most: Duration) {
        self.running.end(at_most, pending()).await;
        self.flush().await;
    }

    pub(crate) async fn flush(&self) {
        if let Some(log) = self.log.clone() {
            // It blocks its thread. Without a runtime, it is shutting down.
            let _ = tokio::task::spawn_blocking(move || log.flush(LAST_FLUSH)).await;
        }
    }

    /// Writes the log, and returns how the server ended.
    pub(crate) async fn conclude(&self, outcome: Result<(), Fatal>) -> Result<(), Fatal> {
        self.flush().await;
        // A client may have left because of the fatal failure.
        match self.fatal.cause() {
            Some(cause) => Err(cause),
            None => outcome,
        }
    }

    /// Serves any number of clients until it is told to stop, or until the first fatal failure.
    pub(crate) async fn until<F, E>(
        self,
        mut stop: Stop,
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
                () = stop.next() => {}
            }
            // If the server is gone, there is no receiver.
            let _ = begin_end.send(());
            server.running.end(server.grace, stop.next()).await;
            sleep(MOMENT).await;
            end_sessions();
            let _ = sessions_end.send(());
        };
        let overdue = async {
            // An error means that the server dropped the shutdown and ends for another reason.
            if end_begun.await.is_err() {
                pending::<()>().await;
            }
            // Or the server dropped the shutdown in the meantime.
            let _ = sessions_ended.await;
            sleep(CLOSE).await;
        };
        let outcome = tokio::select! {
            outcome = serve(Shutdown::new(shutdown)) => outcome.or_fatal("cannot serve"),
            () = overdue => Ok(()),
        };
        self.conclude(outcome).await
    }
}
