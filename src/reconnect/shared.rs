use super::{
    caught::caught_or,
    dial::{Dial, Made},
    machine::{Generation, Machine, NextStep, ProbeId},
    outcome, probing,
    settings::Settings,
    status::{ConnectionState, StateChanges},
};
use crate::{
    failure::{Class, Failure},
    observe::Event,
};
use std::{
    fmt, mem,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
    time::Duration,
};
use tokio::{sync::watch, time::Instant};

/// The state of all clones: the machine in its lock, and the code that acts on its decisions.
///
/// The user's code does not run under the lock, except for the `Clone` of a connection.
pub(super) struct Shared<C> {
    pub(super) dial: Dial<C>,
    pub(super) settings: Settings,
    machine: Mutex<Machine<Made<C>>>,
    // Copies of the machine's state, for reads without the lock. Zero for none.
    current: AtomicU64,
    settled: AtomicU64,
    states: watch::Sender<ConnectionState>,
}

impl<C: Clone + Send + 'static> Shared<C> {
    pub(super) fn new(dial: Dial<C>, settings: Settings) -> Self {
        Self {
            machine: Mutex::new(Machine::new(&settings)),
            dial,
            settings,
            current: AtomicU64::new(0),
            settled: AtomicU64::new(0),
            states: watch::Sender::new(ConnectionState::Idle),
        }
    }

    #[inline]
    pub(super) fn connection(&self) -> Option<(C, Generation)> {
        let machine = self.lock();
        let (made, generation) = machine.connection()?;
        Some((made.connection.clone(), generation))
    }

    /// Whether new calls use another connection.
    #[inline]
    pub(super) fn is_retired(&self, generation: Generation) -> bool {
        self.current.load(Relaxed) != generation
    }

    pub(super) fn generation(&self) -> Generation {
        self.lock().generation()
    }

    pub(super) fn state(&self) -> ConnectionState {
        self.lock().state()
    }

    /// Watches the state from now on.
    pub(super) fn subscribe(&self) -> watch::Receiver<ConnectionState> {
        self.states.subscribe()
    }

    pub(super) fn changes(&self) -> StateChanges {
        StateChanges::new(self.subscribe())
    }

    /// Reports an event to the machine.
    pub(super) fn tell<R>(&self, event: impl FnOnce(&mut Machine<Made<C>>) -> R) -> R {
        // Declared first, so dropped last. Dropping a failure may run the user's code, which must not
        // run under the lock.
        let _replaced;
        let mut machine = self.lock();
        _replaced = machine.failure();
        let told = event(&mut machine);
        let current = machine.connection().map(|(_, generation)| generation);
        self.current.store(current.unwrap_or(0), Relaxed);
        self.settled.store(machine.settled().unwrap_or(0), Relaxed);
        told
    }

    /// The same, and wakes all tasks that wait for a change.
    pub(super) fn change<R>(&self, event: impl FnOnce(&mut Machine<Made<C>>) -> R) -> R {
        let told = self.tell(event);
        // Publish the current state, and not that of the event, so that the later of two changes
        // wins.
        let mut replaced = None;
        self.states
            .send_modify(|state| replaced = Some(mem::replace(state, self.state())));
        // Dropped outside the channel's lock, since it may hold the last reference to a failure.
        drop(replaced);
        told
    }

    fn lock(&self) -> MutexGuard<'_, Machine<Made<C>>> {
        self.machine.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Draws the wait after the next failure, outside the lock, because the jitter may be the
    /// user's code.
    pub(super) fn draw(&self) -> Duration {
        let ceiling = self.lock().ceiling();
        caught_or(ceiling, || self.settings.jitter.draw(ceiling))
    }

    /// A call was answered.
    #[inline]
    pub(super) fn answered(&self, generation: Generation) {
        if self.settled.load(Relaxed) != generation {
            self.tell(|machine| machine.answered(generation));
        }
    }

    /// The outcome of a call on this connection.
    #[inline]
    pub(super) fn observe(
        self: &Arc<Self>,
        generation: Generation,
        outcome: Result<(), &mut Failure>,
    ) {
        match outcome {
            Err(failure) if outcome::is_lost(failure) => self.failed(generation, failure),
            Err(failure) if failure.is_session_in_doubt() => self.doubted(generation),
            _ => self.answered(generation),
        }
    }

    /// A call failed in a way that makes its connection doubtful.
    #[cold]
    pub(super) fn failed(self: &Arc<Self>, generation: Generation, failure: &mut Failure) {
        if failure.class() != Class::Timeout {
            if self.lost(generation, failure) {
                failure.set_paced();
            }
            return;
        }
        let next = self.tell(|machine| machine.timed_out(generation));
        self.proceed(generation, next, || failure.duplicate());
    }

    /// A call got an answer after which the session may be lost.
    #[cold]
    fn doubted(self: &Arc<Self>, generation: Generation) {
        // Without a probe the answer counts as one.
        if let NextStep::Probe(id) = self.tell(|machine| machine.doubted(generation)) {
            probing::spawn(self, generation, id);
        }
    }

    /// A call was dropped after it was sent.
    #[cold]
    pub(super) fn given_up(self: &Arc<Self>, generation: Generation) {
        let next = self.tell(|machine| machine.given_up(generation));
        self.proceed(generation, next, || {
            Failure::timeout("the last calls were all given up without an answer")
        });
    }

    fn proceed(
        self: &Arc<Self>,
        generation: Generation,
        next: NextStep,
        failure: impl FnOnce() -> Failure,
    ) {
        match next {
            NextStep::Keep => {}
            NextStep::Probe(id) => probing::spawn(self, generation, id),
            NextStep::Retire => {
                self.lost(generation, &failure());
            }
        }
    }

    /// A probe ended.
    pub(super) fn probed(
        &self,
        generation: Generation,
        id: ProbeId,
        outcome: Result<(), &Failure>,
    ) {
        let is_dead = outcome
            .err()
            .filter(|failure| outcome::is_lost(failure) || failure.is_session_in_doubt());
        let is_alive = is_dead.is_none();
        let retires = self.tell(|machine| machine.probe_ended(generation, id, is_alive));
        if let (true, Some(failure)) = (retires, is_dead) {
            self.lost(generation, failure);
        }
    }

    /// The connection and its probe, while it is in use.
    pub(super) fn made(&self, generation: Generation) -> Option<Made<C>> {
        let machine = self.lock();
        let (made, current) = machine.connection()?;
        (current == generation).then(|| made.clone())
    }

    /// Retires a lost connection. Returns whether repeats of its calls need no wait.
    pub(super) fn lost(&self, generation: Generation, failure: &Failure) -> bool {
        let wait = self.draw();
        let now = Instant::now();
        let lost = self.tell(|machine| machine.lost(generation, failure, wait, now));
        if lost.retired.is_some() {
            self.change(|_| ());
            self.settings.observers.tell(&Event::ConnectionLost {
                generation,
                failure,
            });
        }
        // The connection is dropped here, outside the lock: closing it may take time.
        drop(lost.retired);
        lost.is_paced
    }

    pub(super) fn reset(&self) {
        self.change(|machine| machine.reset(Instant::now()));
    }

    /// Retires the connection, and lets the next dial begin at once.
    pub(super) fn renew(&self) {
        let retired = self.change(|machine| machine.renew(Instant::now()));
        drop(retired);
    }

    /// Shuts down for good: ends the dial in progress, every wait, and the connection.
    pub(super) fn close(&self) {
        let retired = self.change(Machine::close);
        drop(retired);
    }
}

impl<C> fmt::Debug for Shared<C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Shared")
            .field("settings", &self.settings)
            .finish_non_exhaustive()
    }
}
