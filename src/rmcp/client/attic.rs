use crate::rmcp::Answer;
use ::rmcp::service::ServiceError;
use std::{
    fmt,
    pin::Pin,
    sync::{Arc, Mutex, PoisonError},
    task::{Context, Poll},
};

type Sent = Pin<Box<dyn Future<Output = Result<Answer, ServiceError>> + Send>>;

/// The attempts at one call with a key that limits have abandoned.
///
/// rmcp cancels a request at the server when its future is dropped. A limit of the client is no reason to
/// stop a run whose outcome the next attempt will find, or another call with its key. So such a future is
/// kept until its answer comes, or its connection ends. If the caller drops the call, they are dropped with
/// it, and the server is told.
#[derive(Clone, Default)]
pub(super) struct Attic(Arc<Mutex<Vec<Sent>>>);

impl Attic {
    /// The attempt, which comes here when it is dropped before its answer.
    pub(super) fn hold(&self, sent: Sent) -> Held {
        Held {
            sent: Some(sent),
            attic: self.clone(),
        }
    }

    /// Waits for the answers that still come, after the call has ended by itself. On a connection that has
    /// ended none comes.
    pub(super) async fn wait(self) {
        let sent = std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner));
        for late in sent {
            // Nobody reads it.
            let _ = late.await;
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        let sent = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        sent.is_empty()
    }
}

impl fmt::Debug for Attic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Attic").finish_non_exhaustive()
    }
}

/// An attempt at a call with a key.
pub(super) struct Held {
    sent: Option<Sent>,
    attic: Attic,
}

impl Future for Held {
    type Output = Result<Answer, ServiceError>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let Some(sent) = &mut self.sent else {
            return Poll::Pending;
        };
        let polled = sent.as_mut().poll(cx);
        if polled.is_ready() {
            self.sent = None;
        }
        polled
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        if let Some(sent) = self.sent.take() {
            let kept = self.attic.0.lock();
            kept.unwrap_or_else(PoisonError::into_inner).push(sent);
        }
    }
}
