use tokio::sync::watch;

/// How many connections are there still.
#[derive(Clone, Debug)]
pub struct Census {
    /// Those on which calls may run.
    open: watch::Sender<usize>,
    /// What is being closed: connections, and processes.
    closing: watch::Sender<usize>,
}

impl Census {
    pub(super) fn new() -> Self {
        Self {
            open: watch::Sender::new(0),
            closing: watch::Sender::new(0),
        }
    }

    pub(super) fn open(&self) -> Member {
        Member::of(&self.open)
    }

    pub(super) fn closing(&self) -> Member {
        Member::of(&self.closing)
    }

    /// Waits until no call can run any more.
    pub(super) async fn none_open(&self) {
        none(&self.open).await;
    }

    /// Waits until all are closed.
    pub(super) async fn none_closing(&self) {
        none(&self.closing).await;
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
