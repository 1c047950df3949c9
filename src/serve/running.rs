use crate::idempotency::IdempotencyHandle;
use std::{
    future::poll_fn,
    pin::pin,
    sync::{
        Arc, OnceLock,
        atomic::{AtomicUsize, Ordering::SeqCst},
    },
    task::Poll,
    time::Duration,
};
use tokio::{
    sync::{Notify, watch},
    time::{sleep, timeout},
};

/// How long a call that is cut off has to notice. A call that blocks its thread never does.
const NOTICE: Duration = Duration::from_millis(200);

/// How many calls are running, over all clones, and whether they still may.
#[derive(Clone, Default)]
pub(crate) struct Running(Arc<State>);

#[derive(Default)]
struct State {
    calls: AtomicUsize,
    // Told when there is no call any more.
    idle: Notify,
    phase: watch::Sender<Phase>,
    // Runs without a caller count as running calls.
    keyed: OnceLock<IdempotencyHandle>,
}

#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd)]
enum Phase {
    #[default]
    Serving,
    /// New calls are refused.
    Draining,
    /// Running calls are cut off.
    Over,
}

impl Running {
    /// Counts a call until the guard is dropped.
    pub(crate) fn one_more(&self) -> Counted {
        self.0.calls.fetch_add(1, SeqCst);
        Counted(Arc::clone(&self.0))
    }

    /// Refuses new calls, waits for running calls until the grace ends or `hurry` is ready, and cuts
    /// off the rest.
    pub(crate) async fn end(&self, grace: Duration, hurry: impl Future<Output = ()>) {
        self.enter(Phase::Draining);
        tokio::select! {
            biased;
            () = self.none() => {}
            () = hurry => {}
            () = sleep(grace) => {}
        }
        self.enter(Phase::Over);
        self.notice().await;
    }

    /// Also waits for runs of this layer that have lost their caller.
    pub(crate) fn keep(&self, keyed: &IdempotencyHandle) {
        let _ = self.0.keyed.set(keyed.clone());
    }

    /// The layer for idempotency keys.
    pub(crate) fn keyed(&self) -> Option<&IdempotencyHandle> {
        self.0.keyed.get()
    }

    /// Whether a run goes on without a caller.
    #[cfg(feature = "rmcp")]
    pub(crate) fn goes_on_alone(&self) -> bool {
        let keyed = self.0.keyed.get();
        keyed.is_some_and(|keyed| keyed.running() > 0)
    }

    /// Waits until calls that were cut off or cancelled have noticed it.
    pub(crate) async fn notice(&self) {
        let _ = timeout(NOTICE, self.none()).await;
    }

    /// Whether a call may begin.
    pub(crate) fn is_serving(&self) -> bool {
        *self.0.phase.borrow() == Phase::Serving
    }

    /// Waits until running calls have to be cut off. All see it at the same time: the call around a
    /// handler is not cut off before the handler.
    pub(crate) async fn cut_off(&self) {
        let mut phase = self.0.phase.subscribe();
        // The sender is owned here, so it is alive; below too.
        let mut told = pin!(phase.wait_for(|phase| *phase == Phase::Over));
        // Waiting tasks are woken one after the other, so each looks for itself.
        poll_fn(|cx| match told.as_mut().poll(cx) {
            Poll::Pending if !self.is_over() => Poll::Pending,
            _ => Poll::Ready(()),
        })
        .await;
    }

    fn is_over(&self) -> bool {
        *self.0.phase.borrow() == Phase::Over
    }

    fn enter(&self, later: Phase) {
        self.0.phase.send_if_modified(|phase| {
            let is_later = *phase < later;
            if is_later {
                *phase = later;
            }
            is_later
        });
    }

    async fn none(&self) {
        loop {
            let mut idle = pin!(self.0.idle.notified());
            // From here on, no notice is missed.
            idle.as_mut().enable();
            if self.0.calls.load(SeqCst) == 0 {
                break;
            }
            idle.await;
        }
        if let Some(keyed) = self.0.keyed.get() {
            keyed.idle().await;
        }
    }
}

pub(crate) struct Counted(Arc<State>);

impl Drop for Counted {
    fn drop(&mut self) {
        if self.0.calls.fetch_sub(1, SeqCst) == 1 {
            self.0.idle.notify_waiters();
        }
    }
}
