use crate::idempotency::IdempotencyHandle;
use std::{
    future::poll_fn,
    pin::pin,
    sync::{Arc, OnceLock},
    task::Poll,
    time::Duration,
};
use tokio::{
    sync::watch,
    time::{sleep, timeout},
};

/// How long a call that is cut off has to notice. One that blocks its thread never does.
const NOTICE: Duration = Duration::from_millis(200);

/// How many calls run at the moment, over all clones, and whether they still may.
#[derive(Clone, Default)]
pub(crate) struct Running(Arc<State>);

#[derive(Default)]
struct State {
    calls: watch::Sender<usize>,
    phase: watch::Sender<Phase>,
    // Runs that go on without a caller are calls that run.
    keyed: OnceLock<IdempotencyHandle>,
}

#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd)]
enum Phase {
    #[default]
    Serving,
    /// No call begins any more.
    Draining,
    /// No call goes on any more.
    Over,
}

impl Running {
    /// Counts a call until what this gives is dropped.
    pub(crate) fn one_more(&self) -> Counted {
        self.0.calls.send_modify(|calls| *calls += 1);
        Counted(Arc::clone(&self.0))
    }

    /// Lets no call begin from here on, waits until those that run have ended, at most for the
    /// grace or until `hurry` is ready, and cuts off those that are left.
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

    /// Waits for the runs of this layer, too, that have lost their caller.
    #[cfg(feature = "rmcp")]
    pub(crate) fn keep(&self, keyed: &IdempotencyHandle) {
        let _ = self.0.keyed.set(keyed.clone());
    }

    /// The layer that remembers calls by their keys.
    #[cfg(feature = "rmcp")]
    pub(crate) fn keyed(&self) -> Option<&IdempotencyHandle> {
        self.0.keyed.get()
    }

    /// Whether a run goes on without a caller.
    #[cfg(feature = "rmcp")]
    pub(crate) fn goes_on_alone(&self) -> bool {
        let keyed = self.0.keyed.get();
        keyed.is_some_and(|keyed| keyed.running() > 0)
    }

    /// Waits until calls that were cut off, or cancelled, have noticed it.
    pub(crate) async fn notice(&self) {
        let _ = timeout(NOTICE, self.none()).await;
    }

    /// Whether a call may begin.
    pub(crate) fn is_serving(&self) -> bool {
        *self.0.phase.borrow() == Phase::Serving
    }

    /// Waits until what still runs is to be cut off. Ready for all at the same moment: the call
    /// around a handler is not cut off before the handler.
    pub(crate) async fn cut_off(&self) {
        let mut phase = self.0.phase.subscribe();
        // The sender is in our hands, and cannot be gone; below too.
        let mut told = pin!(phase.wait_for(|phase| *phase == Phase::Over));
        // Those that wait are woken one after the other: whoever is polled looks for itself.
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
        let _ = self.0.calls.subscribe().wait_for(|calls| *calls == 0).await;
        if let Some(keyed) = self.0.keyed.get() {
            keyed.idle().await;
        }
    }
}

pub(crate) struct Counted(Arc<State>);

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.calls.send_modify(|calls| *calls -= 1);
    }
}
