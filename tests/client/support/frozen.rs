use super::LIMIT;
use std::sync::mpsc;
use tokio::task;

/// Keeps a paused clock from advancing by itself, so that a test over real sockets takes no time but
/// the time that it adds.
///
/// The clock of tokio stands still while a blocking task runs. This one ends with the test, or after a
/// limit, so that a test that waits for a timer fails.
pub(crate) struct FrozenClock(
    #[expect(dead_code, reason = "its drop ends the task")] mpsc::Sender<()>,
);

impl FrozenClock {
    pub(crate) fn new() -> Self {
        let (sender, ended) = mpsc::channel();
        task::spawn_blocking(move || ended.recv_timeout(LIMIT));
        Self(sender)
    }
}
