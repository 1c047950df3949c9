use super::{dial::Dial, lease::Lease, settings::Settings, state::State};
use crate::failure::{Class, Failure, Stopped};
use std::{
    fmt,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    thread,
    time::Duration,
};
use tokio::{
    sync::watch,
    time::{self, Instant},
};

/// Connects have no floor of a server's: this keeps the shortest draw from being none.
const SHORTEST_WAIT: Duration = Duration::from_millis(10);

/// Stands for a patience that has no end.
const A_LIFETIME: Duration = Duration::from_secs(60 * 60 * 24 * 365 * 30);

/// What all clones share.
pub(super) struct Shared<C> {
    dial: Dial<C>,
    settings: Settings,
    state: Mutex<State<C>>,
    // Every change of the phase; who subscribes, waits.
    changes: watch::Sender<()>,
    closed: watch::Sender<bool>,
}

impl<C: Clone + Send + 'static> Shared<C> {
    pub(super) fn new(dial: Dial<C>, settings: Settings) -> Self {
        Self {
            state: Mutex::new(State::new(&settings)),
            dial,
            settings,
            changes: watch::Sender::new(()),
            closed: watch::Sender::new(false),
        }
    }

    pub(super) fn connection(&self) -> Option<(C, Arc<Lease>)> {
        self.state().connection()
    }

    pub(super) fn is_connected(&self) -> bool {
        self.state().is_connected()
    }

    pub(super) fn generation(&self) -> u64 {
        self.state().generation()
    }

    /// Until when a call that begins to wait now does so.
    pub(super) fn patience(&self) -> Instant {
        from_now(self.settings.patience)
    }

    /// The same for who wants to see a dial's end.
    pub(super) fn patience_for_a_dial(&self) -> Instant {
        let dial = self.settings.dial_timeout().saturating_add(SHORTEST_WAIT);
        from_now(self.settings.patience.max(dial))
    }

    /// Waits for a connection, and sees to it that somebody dials.
    pub(super) async fn wait(self: Arc<Self>, until: Instant) -> Result<(C, Arc<Lease>), Failure> {
        // Subscribed before the first look, so that no change falls between the two, and so that
        // the dialling task knows of this call.
        let mut changes = self.changes.subscribe();
        let connected = async {
            loop {
                let is_ours_to_dial = {
                    let mut state = self.state();
                    if let Some(end) = state.end() {
                        return Err(end);
                    }
                    if let Some(found) = state.connection() {
                        return Ok(found);
                    }
                    if let Some(failure) = state.is_too_long(until) {
                        return Err(failure);
                    }
                    state.begin_dialing()
                };
                if is_ours_to_dial {
                    // Outside the lock, and with the guard made first: where there is no runtime
                    // to spawn on, or it is ending, the next call has to dial.
                    let dialing = Dialing(Arc::clone(&self));
                    tokio::spawn(dialing.run());
                }
                if changes.changed().await.is_err() {
                    return Err(Failure::cancelled("the connection was dropped"));
                }
            }
        };
        time::timeout_at(until, connected)
            .await
            .unwrap_or_else(|_| Err(self.in_vain()))
    }

    /// Waits until a connection is retired, and says whether that came in time.
    pub(super) async fn retired(self: Arc<Self>, lease: Arc<Lease>, until: Instant) -> bool {
        let mut changes = self.changes.subscribe();
        let retired = async { while !lease.is_retired() && changes.changed().await.is_ok() {} };
        time::timeout_at(until, retired).await.is_ok()
    }

    /// A call failed in a way that its connection does not outlive.
    pub(super) fn retire(&self, lease: &Lease, failure: &Failure) {
        let retired = self.state().retire(lease, failure, &self.settings);
        if retired.is_some() {
            tracing::warn!(
                generation = lease.generation,
                class = failure.class().as_str(),
                error = %failure.chain(),
                "connection lost, the next call gets a new one"
            );
            self.changes.send_replace(());
        }
        // The connection itself goes here, outside the lock: closing it may take what it takes.
        drop(retired);
    }

    /// Ends it for good: a dial in progress, every wait, and the connection.
    pub(super) fn close(&self) {
        let was = self.state().close();
        self.closed.send_replace(true);
        self.changes.send_replace(());
        drop(was);
    }

    async fn closed(&self) {
        // The sender is in our hands, and cannot be gone.
        let _ = self.closed.subscribe().wait_for(|closed| *closed).await;
    }

    /// Dials, with waits, as long as somebody waits for it.
    async fn dial_until_connected(&self) {
        loop {
            self.wait_out_setback().await;
            if self.is_unwanted() {
                return;
            }
            let failure = match time::timeout(self.settings.dial_timeout(), self.dial.start()).await
            {
                Ok(Ok(connection)) => {
                    let unwanted = self.state().connected(connection);
                    self.changes.send_replace(());
                    drop(unwanted);
                    return;
                }
                Ok(Err(failure)) => failure,
                Err(elapsed) => Failure::timeout("the tool server did not accept in time")
                    .because(elapsed)
                    .not_sent(),
            };
            if !self.dial_failed(failure) {
                return;
            }
        }
    }

    async fn wait_out_setback(&self) {
        let setback = self.state().setback();
        if let Some(setback) = setback {
            // Drawn outside the lock: it may be somebody else's code.
            let jitter = self
                .settings
                .jitter
                .draw(setback.ceiling)
                .max(SHORTEST_WAIT);
            let wait = setback.floor.saturating_add(jitter);
            time::sleep(wait.saturating_sub(setback.since.elapsed())).await;
        }
    }

    /// Says whether to dial again.
    fn dial_failed(&self, failure: Failure) -> bool {
        tracing::warn!(
            class = failure.class().as_str(),
            error = %failure.chain(),
            "cannot connect to the tool server"
        );
        let may_go_on = self.state().dial_failed(failure, &self.settings);
        self.changes.send_replace(());
        may_go_on && !self.is_unwanted()
    }

    /// Goes idle if nobody waits any more.
    fn is_unwanted(&self) -> bool {
        let mut state = self.state();
        // Under the lock: a call that comes now finds it idle, and starts another task.
        let is_unwanted = self.changes.receiver_count() == 0;
        if is_unwanted {
            state.stop_dialing();
        }
        is_unwanted
    }

    /// What a call gets that waited as long as it would.
    fn in_vain(&self) -> Failure {
        let mut failure =
            Failure::connection("no connection to the tool server in time").not_sent();
        // It has waited as long as it would: whoever repeats it would only begin to wait again.
        failure.set_stopped(Stopped::NotReady);
        match self.state().last_failure() {
            Some(last) => failure.because(last),
            None => failure,
        }
    }

    fn state(&self) -> MutexGuard<'_, State<C>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn from_now(time: Duration) -> Instant {
    let now = Instant::now();
    now.checked_add(time).unwrap_or_else(|| now + A_LIFETIME)
}

/// The one who dials. Where it is dropped before its end, by a panic or with its runtime, the calls
/// that wait must not wait for it: they look again, and start another.
struct Dialing<C: Clone + Send + 'static>(Arc<Shared<C>>);

impl<C: Clone + Send + 'static> Dialing<C> {
    async fn run(self) {
        // The end first: it wins over a dial that is done at the same time.
        tokio::select! {
            biased;
            () = self.0.closed() => {}
            () = self.0.dial_until_connected() => {}
        }
    }
}

impl<C: Clone + Send + 'static> Drop for Dialing<C> {
    fn drop(&mut self) {
        let shared = &self.0;
        let mut state = shared.state();
        if thread::panicking() {
            let failure = Failure::new(Class::Connection, "the connector panicked").not_sent();
            state.dial_failed(failure, &shared.settings);
        }
        state.stop_dialing();
        drop(state);
        shared.changes.send_replace(());
    }
}

impl<C> fmt::Debug for Shared<C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Shared")
            .field("settings", &self.settings)
            .finish_non_exhaustive()
    }
}
