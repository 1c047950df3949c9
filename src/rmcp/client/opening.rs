use std::{
    pin::Pin,
    sync::{Arc, OnceLock},
    task::{Context, Poll},
    time::Duration,
};
use tokio::{
    sync::watch,
    time::{self, Instant},
};

/// How long after the handshake requests wait for the standing stream: some servers send nothing before
/// the first event.
const LONGEST: Duration = Duration::from_millis(500);

/// The wait for the standing stream of a new session. Without it, the client could miss messages of the
/// server about the first requests, and a server could take the stream for the resumption of a call's.
/// Without a session there is no such stream.
#[derive(Clone, Debug)]
#[cfg_attr(
    not(feature = "rmcp-client-http"),
    allow(dead_code, reason = "only HTTP has such a stream")
)]
pub(super) struct Opening {
    longest: Duration,
    /// The end of the handshake, in a session.
    begun: Arc<OnceLock<Instant>>,
    /// Set if a request has less time than that.
    latest: Arc<OnceLock<Instant>>,
    is_over: watch::Sender<bool>,
}

impl Opening {
    /// One that takes at most this time, and 500 ms.
    pub(super) fn within(limit: Duration) -> Self {
        Self {
            longest: LONGEST.min(limit),
            begun: Arc::default(),
            latest: Arc::default(),
            is_over: watch::Sender::new(false),
        }
    }

    /// Notes the end of the handshake. rmcp opens the standing stream now.
    #[cfg(feature = "rmcp-client-http")]
    pub(super) fn begin(&self) {
        self.begun.get_or_init(Instant::now);
    }

    /// Notes that the server has answered the request for the stream.
    #[cfg(feature = "rmcp-client-http")]
    pub(super) fn end(&self) {
        self.is_over.send_replace(true);
    }

    /// Ends it in this time at the latest, for requests that have a limit of their own.
    pub(super) fn end_within(&self, limit: Duration) {
        if let Some(latest) = Instant::now().checked_add(limit) {
            self.latest.get_or_init(|| latest);
        }
    }

    /// Whether no request has to wait.
    pub(super) fn is_over(&self) -> bool {
        self.begun.get().is_none() || *self.is_over.borrow()
    }

    /// Waits until the stream is open or refused, or the time is up.
    pub(super) async fn wait(&self) {
        let Some(begun) = self.begun.get().filter(|_| !self.is_over()) else {
            return;
        };
        let mut is_over = self.is_over.subscribe();
        let ended = is_over.wait_for(|is_over| *is_over);
        let end = *begun + self.longest;
        let end = self.latest.get().map_or(end, |latest| end.min(*latest));
        if time::timeout_at(end, ended).await.is_err() {
            // Later requests need no timer.
            self.is_over.send_replace(true);
        }
    }
}

impl Default for Opening {
    fn default() -> Self {
        Self::within(LONGEST)
    }
}

/// The wait of one service, polled. A clone waits by itself.
#[derive(Default)]
pub(super) struct Opened(Option<Pin<Box<dyn Future<Output = ()> + Send + Sync>>>);

impl Opened {
    pub(super) fn poll(&mut self, opening: &Opening, cx: &mut Context<'_>) -> Poll<()> {
        if !opening.is_over() {
            let wait = self.0.get_or_insert_with(|| {
                let opening = opening.clone();
                Box::pin(async move { opening.wait().await })
            });
            if wait.as_mut().poll(cx).is_pending() {
                return Poll::Pending;
            }
        }
        self.0 = None;
        Poll::Ready(())
    }
}

impl Clone for Opened {
    fn clone(&self) -> Self {
        Self::default()
    }
}
