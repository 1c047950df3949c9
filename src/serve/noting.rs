use super::{CLOSE, MOMENT};
use std::future::pending;
use tokio::{sync::mpsc::UnboundedReceiver, task::JoinSet, time::timeout};

/// Sends calls that the SDK has refused by itself through the stack, for their lines. All at once: a
/// slow stack delays neither the server nor another call.
pub(crate) struct Noting<R, N> {
    refused: UnboundedReceiver<R>,
    note: N,
    tasks: JoinSet<()>,
}

impl<R, N, F> Noting<R, N>
where
    N: Fn(R) -> F,
    F: Future<Output = ()> + Send + 'static,
{
    pub(crate) fn new(refused: UnboundedReceiver<R>, note: N) -> Self {
        Self {
            refused,
            note,
            tasks: JoinSet::new(),
        }
    }

    /// Takes the calls as they are refused. Never ends.
    pub(crate) async fn go_on<T>(&mut self) -> T {
        loop {
            tokio::select! {
                Some(call) = self.refused.recv() => self.begin(call),
                Some(_) = self.tasks.join_next() => {}
                else => return pending().await,
            }
        }
    }

    /// Waits for the calls that were refused so far. A stack that takes longer is not waited for:
    /// `cancelled` in the log.
    pub(crate) async fn end(mut self) {
        while let Ok(call) = self.refused.try_recv() {
            self.begin(call);
        }
        let all = async { while self.tasks.join_next().await.is_some() {} };
        if timeout(CLOSE, all).await.is_err() {
            let _ = timeout(MOMENT, self.tasks.shutdown()).await;
        }
    }

    fn begin(&mut self, call: R) {
        self.tasks.spawn((self.note)(call));
    }
}
