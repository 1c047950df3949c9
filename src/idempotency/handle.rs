#[cfg(any(feature = "rmcp", feature = "tower-mcp"))]
use super::capability;
use super::{
    RecordId, StoredResult,
    config::Config,
    outcome,
    phase::Phase,
    round::Round,
    store::{Store, StoreError, Value},
};
#[cfg(any(feature = "rmcp", feature = "tower-mcp"))]
use crate::call::{InvalidKey, ToolCall};
use crate::{call::IdempotencyKey, lock::Mutex};
use std::{
    fmt,
    pin::Pin,
    sync::{Arc, Weak},
};
use tokio::{runtime::Handle, sync::watch, task::JoinSet, time};

/// How many rounds after the first can be settled without their state.
const ROUNDS: u32 = 100;

/// The most runs without a caller. A further run is stopped, and its outcome is unknown.
const MOST: usize = 10_000;

/// Waits for runs that have lost their caller, and settles unknown outcomes.
///
/// The layer, its services and the handles share the runs. When the last of them is dropped, the
/// remaining runs are dropped too.
///
/// ```no_run
/// use mcp_resilience::{call::IdempotencyKey, idempotency::IdempotencyLayer};
/// # async fn run(layer: IdempotencyLayer, key: IdempotencyKey) -> Result<(), Box<dyn std::error::Error>> {
///
/// let handle = layer.handle();
/// // The booking with this key was not made, as a look at the database shows.
/// handle.settle_as_not_run(None, &key).await?;
/// handle.idle().await; // at shutdown
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct IdempotencyHandle {
    config: Arc<Config>,
    runs: Arc<Runs>,
}

#[derive(Default)]
struct Runs {
    tasks: Mutex<JoinSet<()>>,
    count: watch::Sender<usize>,
}

type Driver = Pin<Box<dyn Future<Output = ()> + Send>>;

impl IdempotencyHandle {
    pub(super) fn new(config: Arc<Config>) -> Self {
        Self {
            config,
            runs: Arc::default(),
        }
    }

    pub(super) fn config(&self) -> &Arc<Config> {
        &self.config
    }

    /// Whether the user set a scope.
    #[cfg(any(feature = "rmcp", feature = "tower-mcp"))]
    pub(crate) fn has_scope(&self) -> bool {
        self.config.scope.is_some()
    }

    /// The key from the argument that is set for the call's tool.
    #[cfg(any(feature = "rmcp", feature = "tower-mcp"))]
    pub(crate) fn key_of_argument(
        &self,
        call: &impl ToolCall,
    ) -> Option<Result<IdempotencyKey, InvalidKey>> {
        self.config.key_of_argument(call)
    }

    /// The name and content of the experimental capability of a server with this layer.
    #[cfg(any(feature = "rmcp", feature = "tower-mcp"))]
    pub(crate) fn capability(
        &self,
        is_identity_stable: bool,
    ) -> (&'static str, serde_json::Map<String, serde_json::Value>) {
        let is_lasting = self.config.store.outlives_process();
        let store = (!is_lasting).then(|| format!("{:016x}", self.config.number));
        capability::of(store, is_identity_stable)
    }

    /// The number of runs without a caller.
    #[must_use]
    pub fn running(&self) -> usize {
        *self.runs.count.borrow()
    }

    /// Waits until there is no run without a caller. Dropping the future stops only the wait.
    pub async fn idle(&self) {
        let mut count = self.runs.count.subscribe();
        // Cannot fail, because the sender is owned here.
        let _ = count.wait_for(|count| *count == 0).await;
    }

    /// Settles an unknown call as done, with this answer. Later attempts get the answer. For a call
    /// that asks for input, settles the unknown round among the first 101. Returns `false` if the call
    /// is not unknown; then nothing changes.
    ///
    /// `identity` is that of the caller: the result of the [scope](super::IdempotencyBuilder::scope),
    /// by default the value of the `Authorization` header, or `None` without one. An answer may ask for
    /// input; its `requestState` is the one that the tool expects.
    ///
    /// # Errors
    ///
    /// If the store cannot be reached.
    pub async fn settle_as_done<R: StoredResult>(
        &self,
        identity: Option<&[u8]>,
        key: &IdempotencyKey,
        answer: R,
    ) -> Result<bool, StoreError> {
        let mut outcomes = self.outcomes(answer);
        self.settle_any(identity, key, |round| Some(outcomes(round)))
            .await
    }

    /// Settles an unknown call as not run. A later attempt runs it. Returns `false` if the call is
    /// not unknown; then nothing changes.
    ///
    /// # Errors
    ///
    /// If the store cannot be reached.
    pub async fn settle_as_not_run(
        &self,
        identity: Option<&[u8]>,
        key: &IdempotencyKey,
    ) -> Result<bool, StoreError> {
        self.settle_any(identity, key, |_| None).await
    }

    /// Settles an unknown round of a call as done, with this answer. `request_state` is the state
    /// that the caller sends in that round. Otherwise like [`settle_as_done`](Self::settle_as_done).
    ///
    /// # Errors
    ///
    /// If the store cannot be reached.
    pub async fn settle_round_as_done<R: StoredResult>(
        &self,
        identity: Option<&[u8]>,
        key: &IdempotencyKey,
        request_state: &str,
        answer: R,
    ) -> Result<bool, StoreError> {
        let round = Round::of_state(request_state);
        let outcome = self.outcomes(answer)(round);
        self.settle(identity, key, round, Some(outcome)).await
    }

    /// Settles an unknown round of a call as not run. `request_state` is the state that the caller
    /// sends in that round. Otherwise like [`settle_as_not_run`](Self::settle_as_not_run).
    ///
    /// # Errors
    ///
    /// If the store cannot be reached.
    pub async fn settle_round_as_not_run(
        &self,
        identity: Option<&[u8]>,
        key: &IdempotencyKey,
        request_state: &str,
    ) -> Result<bool, StoreError> {
        let round = Round::of_state(request_state);
        self.settle(identity, key, round, None).await
    }

    /// Settles the first unknown round.
    async fn settle_any(
        &self,
        identity: Option<&[u8]>,
        key: &IdempotencyKey,
        mut outcome: impl FnMut(Round) -> Option<Value>,
    ) -> Result<bool, StoreError> {
        for round in (0..=ROUNDS).map(Round::numbered) {
            if self.settle(identity, key, round, outcome(round)).await? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    async fn settle(
        &self,
        identity: Option<&[u8]>,
        key: &IdempotencyKey,
        round: Round,
        outcome: Option<Value>,
    ) -> Result<bool, StoreError> {
        let Config { store, times, .. } = &*self.config;
        let record = RecordId::of_round(identity, key, round);
        store.settle(&record, outcome, times.keep).await
    }

    /// Builds the outcome of a round from the answer. If the answer asks for input, it gets the
    /// number of the next round.
    fn outcomes<R: StoredResult>(&self, mut answer: R) -> impl FnMut(Round) -> Value + use<R> {
        let largest = self.config.largest;
        let asked = answer.request_state_mut().map(Option::take);
        let done = asked.is_none().then(|| outcome::keep(Ok(&answer), largest));
        move |round| {
            if let Some(done) = &done {
                return done.clone();
            }
            if let (Some(state), Some(asked)) = (answer.request_state_mut(), &asked) {
                *state = Some(round.next_state(asked.as_deref()));
            }
            outcome::keep(Ok(&answer), largest)
        }
    }

    /// The store of the layer.
    #[must_use]
    pub fn store(&self) -> &Arc<dyn Store> {
        &self.config.store
    }

    /// The adopter that a future keeps, to hand over its run.
    pub(super) fn adopter(&self) -> Adopter {
        Adopter {
            runs: Arc::downgrade(&self.runs),
            config: Arc::clone(&self.config),
        }
    }
}

/// Takes over runs whose caller is gone.
pub(super) struct Adopter {
    // A run must not keep itself alive.
    runs: Weak<Runs>,
    config: Arc<Config>,
}

impl Adopter {
    /// Drives a run to its end in a task. If the runtime or the layer is gone, the run is dropped, and
    /// its outcome is unknown.
    pub(super) fn adopt(&self, driver: Driver, phase: Phase) {
        let (Some(runs), Ok(runtime)) = (self.runs.upgrade(), Handle::try_current()) else {
            return;
        };
        let counted = Counted::new(&runs);
        if *runs.count.borrow() > MOST {
            tracing::warn!(
                "too many calls run on without their callers: one is stopped, and its outcome is unknown"
            );
            phase.stop();
        }
        let alone = self.config.times.alone;
        let seen_to_its_end = async move {
            let mut driver = driver;
            if time::timeout(alone, driver.as_mut()).await.is_err() {
                tracing::warn!(
                    limit_ms = alone.as_millis(),
                    "a call without a caller ran for too long: it is stopped, and its outcome is unknown"
                );
                phase.stop();
                driver.await;
            }
            drop(counted);
        };
        let mut tasks = runs.tasks.lock();
        while tasks.try_join_next().is_some() {}
        tasks.spawn_on(seen_to_its_end, &runtime);
    }
}

/// Counts a run without a caller until it is dropped.
struct Counted(watch::Sender<usize>);

impl Counted {
    fn new(runs: &Runs) -> Self {
        runs.count.send_modify(|count| *count += 1);
        Self(runs.count.clone())
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.send_modify(|count| *count -= 1);
    }
}

impl fmt::Debug for IdempotencyHandle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("IdempotencyHandle")
            .field("config", &self.config)
            .field("running", &self.running())
            .finish_non_exhaustive()
    }
}
