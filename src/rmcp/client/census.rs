use tokio::sync::watch;

/// How many connections are there still, those that are being closed included.
#[derive(Clone, Debug)]
pub struct Census(watch::Sender<usize>);

impl Census {
    pub(super) fn new() -> Self {
        Self(watch::Sender::new(0))
    }

    pub(super) fn join(&self) -> Member {
        self.0.send_modify(|count| *count += 1);
        Member(self.clone())
    }

    /// Waits until none is left.
    pub(super) async fn empty(&self) {
        // The sender is in our hands, and cannot be gone.
        let _ = self.0.subscribe().wait_for(|count| *count == 0).await;
    }
}

/// One of them, until it is dropped.
#[derive(Debug)]
pub(super) struct Member(Census);

impl Drop for Member {
    fn drop(&mut self) {
        self.0.0.send_modify(|count| *count -= 1);
    }
}
