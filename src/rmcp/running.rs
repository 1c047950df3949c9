use std::{sync::Arc, time::Duration};
use tokio::{sync::watch, time::timeout};

/// How many calls run at the moment, over all clones, and whether they still may.
#[derive(Clone, Default)]
pub(super) struct Running(Arc<State>);

#[derive(Default)]
struct State {
    calls: watch::Sender<usize>,
    is_over: watch::Sender<bool>,
}

impl Running {
    /// Counts a call until what this gives is dropped.
    pub(super) fn one_more(&self) -> Counted {
        self.0.calls.send_modify(|calls| *calls += 1);
        Counted(Arc::clone(&self.0))
    }

    /// Waits until there is none, at most so long, and then cuts off those that are left, and
    /// whichever come later.
    pub(super) async fn end(&self, at_most: Duration) {
        if timeout(at_most, self.none()).await.is_err() {
            self.0.is_over.send_replace(true);
            self.none().await;
        }
    }

    /// Waits until what still runs is to be cut off.
    pub(super) async fn cut_off(&self) {
        // The sender is in our hands, and cannot be gone; below too.
        let _ = self
            .0
            .is_over
            .subscribe()
            .wait_for(|is_over| *is_over)
            .await;
    }

    async fn none(&self) {
        let _ = self.0.calls.subscribe().wait_for(|calls| *calls == 0).await;
    }
}

pub(super) struct Counted(Arc<State>);

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.calls.send_modify(|calls| *calls -= 1);
    }
}
