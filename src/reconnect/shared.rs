use super::{
    dial::{self, Dial},
    lease::Lease,
    settings::Settings,
    state::{Phase, State},
};
use crate::failure::{Class, Delivery, Failure};
use std::{
    fmt,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};
use tokio::{sync::watch, time};

/// What all clones share.
pub(super) struct Shared<C> {
    dial: Dial<C>,
    settings: Settings,
    state: Mutex<State<C>>,
    // Every change of the phase; who subscribes, waits.
    changes: watch::Sender<()>,
}

impl<C: Clone + Send + 'static> Shared<C> {
    pub(super) fn new(dial: Dial<C>, settings: Settings) -> Self {
        Self {
            state: Mutex::new(State::new(&settings)),
            dial,
            settings,
            changes: watch::Sender::new(()),
        }
    }

    pub(super) fn connection(&self) -> Option<(C, Arc<Lease>)> {
        self.state().connection()
    }

    pub(super) fn end(&self) -> Option<Failure> {
        self.state().end()
    }

    pub(super) fn generation(&self) -> u64 {
        self.state().generation()
    }

    /// Waits for a connection, and sees to it that somebody dials.
    pub(super) async fn wait(self: Arc<Self>) -> Result<(C, Arc<Lease>), Failure> {
        // Subscribed before the first look, so that no change falls between the two, and so that
        // the dialling task knows of this call.
        let mut changes = self.changes.subscribe();
        let connected = async {
            loop {
                {
                    let mut state = self.state();
                    if let Some(end) = state.end() {
                        return Err(end);
                    }
                    if let Some(found) = state.connection() {
                        return Ok(found);
                    }
                    self.dial_if_idle(&mut state);
                }
                if changes.changed().await.is_err() {
                    return Err(Failure::cancelled("the connection was dropped"));
                }
            }
        };
        match time::timeout(self.settings.patience, connected).await {
            Ok(outcome) => outcome,
            Err(_) => Err(self.in_vain()),
        }
    }

    /// Waits until a connection is retired.
    pub(super) async fn retired(self: Arc<Self>, lease: Arc<Lease>) {
        let mut changes = self.changes.subscribe();
        while !lease.is_retired() && changes.changed().await.is_ok() {}
    }

    /// A call failed in a way that its connection does not outlive.
    pub(super) fn retire(&self, lease: &Lease, failure: &Failure) {
        let retired = self.state().retire(lease, &self.settings);
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
        if let Phase::Dialing(task) = &was {
            task.abort();
        }
        self.changes.send_replace(());
        drop(was);
    }

    fn dial_if_idle(self: &Arc<Self>, state: &mut State<C>) {
        if matches!(state.phase, Phase::Idle) {
            let task = tokio::spawn(Arc::clone(self).dial_until_connected());
            state.phase = Phase::Dialing(task.abort_handle());
        }
    }

    /// Dials, with waits, as long as somebody waits for it.
    async fn dial_until_connected(self: Arc<Self>) {
        let mut unfinished = Unfinished(Some(&self));
        loop {
            let not_before = self.state().not_before();
            time::sleep_until(not_before).await;
            if self.is_unwanted() {
                break;
            }
            let dialled = time::timeout(self.settings.dial_timeout, self.dial.start()).await;
            let failure = match dialled {
                Ok(Ok(connection)) => {
                    let unwanted = self.state().connected(connection);
                    self.changes.send_replace(());
                    drop(unwanted);
                    break;
                }
                Ok(Err(error)) => dial::failure(error),
                Err(elapsed) => Failure::timeout("the tool server did not accept in time")
                    .because(elapsed)
                    .with_delivery(Delivery::NotSent),
            };
            if !self.dial_failed(failure) {
                break;
            }
        }
        unfinished.0 = None;
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
        let failure = Failure::connection("no connection to the tool server in time")
            .with_delivery(Delivery::NotSent);
        match self.state().last_failure() {
            Some(last) => failure.because(last),
            None => failure,
        }
    }

    fn state(&self) -> MutexGuard<'_, State<C>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Where the dialling task is dropped before its end, by a panic or with its runtime, the calls
/// that wait must not wait for it: they look again, and start another.
struct Unfinished<'a, C: Clone + Send + 'static>(Option<&'a Shared<C>>);

impl<C: Clone + Send + 'static> Drop for Unfinished<'_, C> {
    fn drop(&mut self) {
        let Some(shared) = self.0 else { return };
        let mut state = shared.state();
        if std::thread::panicking() {
            let failure = Failure::new(Class::Connection, "the connector panicked")
                .with_delivery(Delivery::NotSent);
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
