//! Runs one call with a key.

use super::{
    Fingerprint, RecordId, StoredResult,
    config::Config,
    failures,
    outcome::{self, Outcome},
    phase::Phase,
    round::Round,
    store::{Claim, Claimed, Ending, StoreError, StoreFuture, Token},
};
use crate::{
    call::{Cancellation, IdempotencyKey, ToolCall},
    failure::{BoxError, Failure},
    is_error::{self, Target},
    ledger::{self, Ledger, Recorded},
};
use std::{
    future::{pending, poll_fn},
    pin::pin,
    sync::Arc,
    time::Duration,
};
use tokio::time::{self, Instant, MissedTickBehavior};
use tower::Service;

/// The first and the longest wait before the store is asked again.
const FIRST_PAUSE: Duration = Duration::from_millis(10);
const LONGEST_PAUSE: Duration = Duration::from_millis(500);

/// One call that has a key.
pub(super) struct Run {
    pub(super) config: Arc<Config>,
    pub(super) key: IdempotencyKey,
    pub(super) round: Round,
    pub(super) record: RecordId,
    pub(super) fingerprint: Fingerprint,
    pub(super) may_run_twice: bool,
    pub(super) target: Target,
    pub(super) cancellation: Option<Cancellation>,
    pub(super) phase: Phase,
}

/// The result of a claim after all waits.
enum Turn<R> {
    Run(Token),
    RunUnprotected,
    Answer(Outcome<R>),
}

impl Run {
    /// Runs the call, or answers it from the store.
    pub(super) async fn drive<S, Req>(self, ready: S, call: Req) -> Outcome<S::Response>
    where
        S: Service<Req, Response: StoredResult, Error: Into<BoxError>> + Clone,
        Req: ToolCall,
    {
        let mut ready = Some(ready);
        let token = match self.take_turn(&mut ready).await {
            Turn::Run(token) => token,
            Turn::RunUnprotected => {
                let service = ready.take();
                return match service {
                    Some(service) => self.call(service, call).await.map_err(Failure::from_any),
                    None => Err(failures::cancelled(false)),
                };
            }
            Turn::Answer(answer) => return answer,
        };
        let Some(service) = ready else {
            return Err(failures::cancelled(false));
        };
        let running = Recorded::new(Ledger::of_run(), self.call(service, call));
        let (outcome, ledger) = tokio::select! {
            biased;
            finished = running => finished,
            never = self.keep_lease(token) => match never {},
            () = self.cancelled() => {
                let ending = Ending::Unknown;
                self.finish(token, Some(ending)).await;
                return Err(failures::cancelled(true));
            }
        };
        let outcome = outcome.map_err(Failure::from_any);
        let notes = ledger.take();
        let ending = outcome::ending(&outcome, notes.failure.as_ref(), self.config.largest);
        ledger::hand_over(ledger.id(), notes);
        if self.finish(token, ending.clone()).await {
            return outcome;
        }
        self.reconcile(outcome, ending).await
    }

    /// Waits until the call may run, or has an answer. The service is held only while the store is
    /// the only thing to wait for.
    async fn take_turn<S, R>(&self, ready: &mut Option<S>) -> Turn<R>
    where
        S: Clone,
        R: StoredResult,
    {
        let begun = Instant::now();
        let mut pause = FIRST_PAUSE;
        let claim = Claim::new(
            self.fingerprint,
            self.config.times.lease,
            self.config.times.keep,
        );
        let claim = claim.may_run_twice(self.may_run_twice);
        let token = claim.token;
        loop {
            self.phase.set(Phase::CLAIMING);
            let claimed = self.claim(&claim).await;
            let lease_left = match claimed {
                Ok(Claimed::Ours) if self.is_cancelled() => {
                    self.finish(token, None).await;
                    return Turn::Answer(Err(failures::cancelled(false)));
                }
                Ok(Claimed::Ours) => {
                    self.phase.set(Phase::RUNNING);
                    return Turn::Run(token);
                }
                Ok(Claimed::Done(value)) => return Turn::Answer(self.replay(&value)),
                Ok(Claimed::Unknown) => return Turn::Answer(self.answer(failures::unknown())),
                Ok(Claimed::Conflict) => return Turn::Answer(self.answer(failures::conflict())),
                Ok(Claimed::Running { lease_left }) => lease_left,
                Err(error) if error.is_full() => {
                    return Turn::Answer(self.answer(failures::store_full(error)));
                }
                Err(error) if self.config.runs_unprotected => {
                    failures::unprotected(&self.key, error);
                    self.phase.set(Phase::WAITING);
                    return Turn::RunUnprotected;
                }
                Err(error) => {
                    // The claim may have reached the store.
                    let store = &self.config.store;
                    let released = store.release(&self.record, token);
                    let _ = time::timeout(FIRST_PAUSE, released).await;
                    return Turn::Answer(self.answer(failures::store_unreachable(error)));
                }
            };
            self.phase.set(Phase::WAITING);
            // A waiting call does not hold a permit of a concurrency limit.
            *ready = ready.take().map(unreadied);
            let waited = begun.elapsed();
            let Some(left) = self.config.times.wait.checked_sub(waited) else {
                return Turn::Answer(self.answer(failures::in_flight(lease_left)));
            };
            let pause_now = pause.min(left.max(FIRST_PAUSE));
            tokio::select! {
                () = time::sleep(pause_now) => {}
                () = self.cancelled() => return Turn::Answer(Err(failures::cancelled(false))),
            }
            pause = (pause * 2).min(LONGEST_PAUSE);
        }
    }

    async fn call<S, Req>(&self, mut service: S, call: Req) -> Result<S::Response, S::Error>
    where
        S: Service<Req, Response: StoredResult>,
    {
        poll_fn(|cx| service.poll_ready(cx)).await?;
        let answer = service.call(call);
        // The service may hold a permit that the next call needs.
        drop(service);
        let mut answer = answer.await?;
        self.round.lead_on(&mut answer);
        Ok(answer)
    }

    /// Renews the lease while it is polled. A failed renewal is ignored, since the next one
    /// replaces it, and an expired claim stays until another run takes it over.
    async fn keep_lease(&self, token: Token) -> std::convert::Infallible {
        let lease = self.config.times.lease;
        let mut ticks = time::interval(lease / 3);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        ticks.tick().await;
        loop {
            ticks.tick().await;
            let renewed = self.config.store.renew(&self.record, token, lease);
            match time::timeout(lease / 3, renewed).await {
                Ok(Ok(true)) => {}
                Ok(Ok(false)) => {
                    tracing::warn!(
                        "the claim of an idempotency key was taken over while its call runs"
                    );
                    return pending().await;
                }
                Ok(Err(error)) => {
                    let failure = failures::store_unreachable(error);
                    tracing::warn!(error = %failure.chain(), "the lease of an idempotency key could not be renewed");
                }
                Err(_) => {
                    tracing::warn!("the lease of an idempotency key was not renewed in time");
                }
            }
        }
    }

    /// Writes the end of a run. `false` if the run no longer owns the claim, or the store cannot be
    /// written.
    async fn finish(&self, token: Token, ending: Option<Ending>) -> bool {
        let Config { store, times, .. } = &*self.config;
        let record = &self.record;
        // The run cannot be repeated, so this waits longer for the store than a claim does.
        let store_timeout = times.store_timeout.max(times.lease);
        let written = self
            .ask(store_timeout, || match ending.clone() {
                Some(ending) => store.complete(record, token, ending, times.keep),
                None => store.release(record, token),
            })
            .await;
        match written {
            Ok(is_ours) => is_ours || ending.is_none(),
            Err(error) => {
                let failure = failures::store_unreachable(error);
                tracing::error!(error = %failure.chain(), "the outcome of a call could not be stored: another attempt is only told that it is unknown");
                true
            }
        }
    }

    /// The result for the caller of a run whose claim was taken over. This is the stored outcome, so
    /// that all callers get the same, or the run's own if none is stored.
    async fn reconcile<R: StoredResult>(
        &self,
        outcome: Outcome<R>,
        ending: Option<Ending>,
    ) -> Outcome<R> {
        let times = self.config.times;
        let claim = Claim::new(self.fingerprint, times.lease, times.keep);
        let token = claim.token;
        match self.claim(&claim).await {
            Ok(Claimed::Done(value)) => self.replay(&value),
            // The record is gone, or was settled as not run.
            Ok(Claimed::Ours) => {
                self.finish(token, ending).await;
                outcome
            }
            _ => outcome,
        }
    }

    /// Claims the record of the call. Repeats a failed claim until the `store_timeout` has passed.
    async fn claim(&self, claim: &Claim) -> Result<Claimed, StoreError> {
        let claimed = self.ask(self.config.times.store_timeout, || {
            let claimed = self.config.store.claim(&self.record, claim.clone());
            Box::pin(async move {
                match claimed.await {
                    // A full store stays full if it is asked again.
                    Err(error) if error.is_full() => Ok(Err(error)),
                    claimed => claimed.map(Ok),
                }
            })
        });
        claimed.await?
    }

    /// Asks the store. Repeats a failed operation until the `store_timeout` has passed.
    async fn ask<'a, T>(
        &'a self,
        store_timeout: Duration,
        operation: impl Fn() -> StoreFuture<'a, T>,
    ) -> Result<T, StoreError> {
        let first = time::timeout(store_timeout, operation());
        let mut error = match first.await {
            Ok(Ok(answer)) => return Ok(answer),
            Ok(Err(error)) => error,
            Err(_) => return Err(too_late(store_timeout)),
        };
        let mut pause = FIRST_PAUSE;
        let mut over = pin!(time::sleep(store_timeout));
        loop {
            tokio::select! {
                biased;
                () = over.as_mut() => return Err(error),
                () = time::sleep(pause) => {}
            }
            tokio::select! {
                biased;
                answer = operation() => match answer {
                    Ok(answer) => return Ok(answer),
                    Err(again) => error = again,
                },
                () = over.as_mut() => return Err(error),
            }
            pause = (pause * 2).min(LONGEST_PAUSE);
        }
    }

    /// The answer to the call from its record.
    fn replay<R: StoredResult>(&self, value: &super::store::Value) -> Outcome<R> {
        match outcome::replay(value) {
            Ok(Some(outcome)) => {
                ledger::note(|notes| notes.was_replayed = true);
                outcome
            }
            Ok(None) => self.answer(failures::not_kept()),
            Err(error) => self.answer(failures::unreadable(error)),
        }
    }

    fn answer<R: StoredResult>(&self, failure: Failure) -> Outcome<R> {
        is_error::flag(failure, &self.target)
    }

    fn is_cancelled(&self) -> bool {
        self.phase.is_stopped()
            || self
                .cancellation
                .as_ref()
                .is_some_and(Cancellation::is_cancelled)
    }

    async fn cancelled(&self) {
        let by_caller = async {
            match &self.cancellation {
                Some(cancellation) => cancellation.cancelled().await,
                None => pending().await,
            }
        };
        tokio::select! {
            () = by_caller => {}
            () = self.phase.stopped() => {}
        }
    }
}

/// A clone of the service that holds no permit.
fn unreadied<S: Clone>(service: S) -> S {
    let unreadied = service.clone();
    drop(service);
    unreadied
}

fn too_late(store_timeout: Duration) -> StoreError {
    StoreError::new(format!("no answer from the store within {store_timeout:?}"))
}
