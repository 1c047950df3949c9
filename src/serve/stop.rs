use super::signals::Signals;
use std::{
    fmt,
    future::poll_fn,
    pin::Pin,
    task::{Context, Poll, ready},
};

/// Tells a server to stop: a signal to the process, or a future of your own.
///
/// `Resilient::run` uses [`Stop::signals`]. `run_with_stop` and `run_until` take any `Stop`, or any
/// `Future<Output = ()>`.
///
/// ```
/// use mcp_resilience::rmcp::Stop;
///
/// let on_signals = Stop::signals();
/// let never = Stop::never();
/// let (stop, stopped) = tokio::sync::oneshot::channel::<()>();
/// let when_told = Stop::from(async {
///     let _ = stopped.await;
/// });
/// # let _ = (on_signals, never, when_told, stop);
/// ```
pub struct Stop(Source);

enum Source {
    // `None` until the first poll.
    Signals(Option<Signals>),
    Own(Pin<Box<dyn Future<Output = ()> + Send>>),
    Never,
}

impl Stop {
    /// Stops on SIGTERM, SIGINT (Ctrl-C) and SIGHUP; on other systems than Unix, on Ctrl-C.
    ///
    /// A second signal ends the grace of running calls: they are cut off at once.
    ///
    /// tokio installs the handlers when the server starts, and never removes them: after the server
    /// has ended, these signals no longer end the process. In a runtime without IO, the server does
    /// not see signals, and there is a warning.
    #[must_use]
    pub fn signals() -> Self {
        Self(Source::Signals(None))
    }

    /// Never stops: the server ends with its client, or with the first fatal failure. A signal then
    /// ends the process at once, without an answer and without a log line.
    #[must_use]
    pub fn never() -> Self {
        Self(Source::Never)
    }

    /// Waits for the stop. After it, waits for the next.
    pub(crate) async fn next(&mut self) {
        poll_fn(|cx| self.poll_next(cx)).await;
    }

    fn poll_next(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        match &mut self.0 {
            Source::Signals(signals) => {
                let signals = signals.get_or_insert_with(Signals::install);
                signals.poll_next(cx)
            }
            Source::Own(future) => {
                ready!(future.as_mut().poll(cx));
                self.0 = Source::Never;
                Poll::Ready(())
            }
            Source::Never => Poll::Pending,
        }
    }
}

impl<F> From<F> for Stop
where
    F: Future<Output = ()> + Send + 'static,
{
    /// Stops when the future is ready.
    fn from(future: F) -> Self {
        Self(Source::Own(Box::pin(future)))
    }
}

impl fmt::Debug for Stop {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.0 {
            Source::Signals(_) => "Stop::signals",
            Source::Own(_) => "Stop::from(future)",
            Source::Never => "Stop::never",
        })
    }
}

/// Completes when a server has to stop serving. A graceful shutdown waits for it.
pub struct Shutdown(Pin<Box<dyn Future<Output = ()> + Send>>);

impl Shutdown {
    pub(super) fn new(shutdown: impl Future<Output = ()> + Send + 'static) -> Self {
        Self(Box::pin(shutdown))
    }
}

impl Future for Shutdown {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        self.0.as_mut().poll(cx)
    }
}

debug_name!(Shutdown);
