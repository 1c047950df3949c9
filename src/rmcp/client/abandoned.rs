use crate::{lock::Mutex, rmcp::Answer};
use ::rmcp::service::ServiceError;
use std::{
    collections::VecDeque,
    fmt,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
    time::Duration,
};
use tokio::{runtime::Handle, task::AbortHandle, time};

/// How many abandoned attempts of one client stay open. Over HTTP, each holds a socket.
const MOST: usize = 256;

/// How long an abandoned attempt stays open.
const LONGEST: Duration = Duration::from_secs(60 * 60);

type Sent = Pin<Box<dyn Future<Output = Result<Answer, ServiceError>> + Send>>;

/// The attempts of one client at calls with a key that limits of time have abandoned, the oldest first.
///
/// rmcp cancels a request at the server when its future is dropped. A timeout of the client does not
/// stop a run whose outcome the next attempt, or another call with its key, will find. So a task keeps
/// such a future until its answer comes, or its connection ends. A server that never answers must not
/// fill this client with them, so their number and their time are limited.
#[derive(Clone, Default)]
pub(super) struct Abandoned(Arc<Mutex<VecDeque<AbortHandle>>>);

impl Abandoned {
    pub(super) fn new_call(&self) -> KeyedCall {
        KeyedCall {
            all: self.clone(),
            kept: Arc::new(Mutex::new(Some(Vec::new()))),
        }
    }

    /// Without a runtime the attempt is dropped, and cancelled at the server.
    fn keep(&self, sent: Sent) -> Option<AbortHandle> {
        let runtime = Handle::try_current().ok()?;
        let kept = runtime.spawn(async move {
            // The answer has no reader.
            if time::timeout(LONGEST, sent).await.is_err() {
                tracing::warn!(
                    limit_ms = LONGEST.as_millis(),
                    "an attempt with a key that ran into its limit got no answer for too long: it is \
                     cancelled at the server"
                );
            }
        });
        let kept = kept.abort_handle();
        let oldest = {
            let mut all = self.0.lock();
            all.retain(|kept| !kept.is_finished());
            all.push_back(kept.clone());
            if all.len() > MOST {
                all.pop_front()
            } else {
                None
            }
        };
        if let Some(oldest) = oldest {
            tracing::warn!(
                limit = MOST as u64,
                "too many attempts with a key that ran into their limit wait for an answer: the \
                 oldest is cancelled at the server"
            );
            oldest.abort();
        }
        Some(kept)
    }

    /// Cancels all of them at the server.
    pub(super) fn cancel(&self) {
        let all = std::mem::take(&mut *self.0.lock());
        all.iter().for_each(AbortHandle::abort);
    }
}

impl fmt::Debug for Abandoned {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Abandoned")
            .field("len", &self.0.lock().len())
            .finish()
    }
}

/// A call with a key, shared by its attempts.
#[derive(Clone)]
pub(super) struct KeyedCall {
    all: Abandoned,
    // The abandoned attempts. `None` once the caller has dropped the call.
    kept: Arc<Mutex<Option<Vec<AbortHandle>>>>,
}

impl KeyedCall {
    /// An attempt, which is kept if a limit drops it before its answer.
    pub(super) fn attempt(&self, sent: Sent) -> Attempt {
        Attempt {
            sent: Some(sent),
            call: self.clone(),
        }
    }

    /// Cancels all attempts at the server when it is dropped, unless the call ended by itself.
    pub(super) fn cancel_on_drop(self) -> CancelOnDrop {
        CancelOnDrop(Some(self))
    }

    fn abandon(&self, sent: Sent) {
        if self.kept.lock().is_none() {
            return;
        }
        let Some(attempt) = self.all.keep(sent) else {
            return;
        };
        match &mut *self.kept.lock() {
            Some(kept) => kept.push(attempt),
            None => attempt.abort(),
        }
    }

    fn cancel(&self) {
        let kept = self.kept.lock().take();
        kept.iter().flatten().for_each(AbortHandle::abort);
    }
}

/// Held by the future of the caller.
pub(super) struct CancelOnDrop(Option<KeyedCall>);

impl CancelOnDrop {
    pub(super) fn disarm(mut self) {
        self.0 = None;
    }
}

impl Drop for CancelOnDrop {
    fn drop(&mut self) {
        if let Some(call) = &self.0 {
            call.cancel();
        }
    }
}

/// An attempt at a call with a key.
pub(super) struct Attempt {
    sent: Option<Sent>,
    call: KeyedCall,
}

impl Future for Attempt {
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

impl Drop for Attempt {
    fn drop(&mut self) {
        if let Some(sent) = self.sent.take() {
            self.call.abandon(sent);
        }
    }
}
