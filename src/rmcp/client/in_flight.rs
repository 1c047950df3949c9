use crate::failure::Failure;
use tokio::sync::watch;

/// Counts what the close of a client waits for, and ends calls that take too long.
#[derive(Clone, Debug)]
pub(super) struct InFlight {
    /// Calls and requests that run.
    calls: watch::Sender<usize>,
    /// Connections and processes that are not closed yet.
    open: watch::Sender<usize>,
    /// Whether calls that still run have to end.
    cut: watch::Sender<bool>,
}

impl InFlight {
    pub(super) fn new() -> Self {
        Self {
            calls: watch::Sender::new(0),
            open: watch::Sender::new(0),
            cut: watch::Sender::new(false),
        }
    }

    /// Counts a call from now on until it ends, is dropped or is cut off.
    pub(super) fn counted<T, F>(
        &self,
        call: F,
    ) -> impl Future<Output = Result<T, Failure>> + use<T, F>
    where
        F: Future<Output = Result<T, Failure>>,
    {
        let (member, mut cut) = (Member::of(&self.calls), self.cut.subscribe());
        async move {
            let _member = member;
            tokio::select! {
                biased;
                outcome = call => outcome,
                Ok(_) = cut.wait_for(|cut| *cut) => Err(Failure::cancelled(
                    "the client was closed before the answer arrived: raise `close_timeout` to wait \
                     longer",
                )),
            }
        }
    }

    pub(super) fn open(&self) -> Member {
        Member::of(&self.open)
    }

    /// Waits until no call runs any more.
    pub(super) async fn no_call(&self) {
        none(&self.calls).await;
    }

    /// Ends all calls that still run.
    pub(super) fn cut(&self) {
        self.cut.send_replace(true);
    }

    /// Waits until all are closed.
    pub(super) async fn none_open(&self) {
        none(&self.open).await;
    }
}

async fn none(count: &watch::Sender<usize>) {
    // Never an error: the sender is borrowed, so it is alive.
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
