use tokio::sync::watch;

/// What a client that is closed has to wait for.
#[derive(Clone, Debug)]
pub struct Census {
    /// Calls that run.
    calls: watch::Sender<usize>,
    /// Connections and processes that are not closed yet.
    open: watch::Sender<usize>,
}

impl Census {
    pub(super) fn new() -> Self {
        Self {
            calls: watch::Sender::new(0),
            open: watch::Sender::new(0),
        }
    }

    pub(super) fn call(&self) -> Member {
        Member::of(&self.calls)
    }

    pub(super) fn open(&self) -> Member {
        Member::of(&self.open)
    }

    /// Waits until no call runs any more.
    pub(super) async fn no_call(&self) {
        none(&self.calls).await;
    }

    /// Waits until all are closed.
    pub(super) async fn none_open(&self) {
        none(&self.open).await;
    }
}

async fn none(count: &watch::Sender<usize>) {
    // The sender is in our hands, and cannot be gone.
    let _ = count.subscribe().wait_for(|count| *count == 0).await;
}

/// One of them, until it is dropped.
#[derive(Debug)]
pub(super) struct Member(watch::Sender<usize>);

impl Member {
    fn of(count: &watch::Sender<usize>) -> Self {
        count.send_modify(|count| *count += 1);
        Self(count.clone())
    }
}

impl Drop for Member {
    fn drop(&mut self) {
        self.0.send_modify(|count| *count -= 1);
    }
}
