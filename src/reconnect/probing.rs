//! The task that probes a connection.

use super::{
    caught::caught,
    machine::{Generation, ProbeId},
    probe::Prober,
    shared::Shared,
};
use crate::{failure::Failure, observe::Event};
use std::sync::Arc;
use tokio::time;

/// Starts a probe on the runtime of the connection, because the call may be dropped outside of a
/// runtime.
pub(super) fn spawn<C: Clone + Send + 'static>(
    shared: &Arc<Shared<C>>,
    generation: Generation,
    id: ProbeId,
) {
    // Created before the spawn: if the runtime is shutting down, the drop ends the probe.
    let probing = Probing {
        shared: Arc::clone(shared),
        generation,
        id,
    };
    let Some(made) = shared.made(generation) else {
        return;
    };
    let Some(probe) = made.probe else {
        return;
    };
    let observers = &shared.settings.observers;
    observers.tell(&Event::ProbeStarted { generation });
    made.runtime.spawn(probing.run(probe));
}

struct Probing<C: Clone + Send + 'static> {
    shared: Arc<Shared<C>>,
    generation: Generation,
    id: ProbeId,
}

impl<C: Clone + Send + 'static> Probing<C> {
    async fn run(self, probe: Prober) {
        let mut states = self.shared.subscribe();
        // A probe of a connection that was replaced in the meantime ends at once.
        let replaced = states.wait_for(|_| self.shared.is_retired(self.generation));
        let outcome = tokio::select! {
            biased;
            _ = replaced => return,
            outcome = self.ask(probe) => outcome,
        };
        if let Err(failure) = &outcome {
            self.shared.settings.observers.tell(&Event::ProbeFailed {
                generation: self.generation,
                failure,
            });
        }
        self.shared
            .probed(self.generation, self.id, outcome.as_ref().copied());
    }

    async fn ask(&self, probe: Prober) -> Result<(), Failure> {
        let limit = self.shared.settings.probe_timeout;
        let asked = caught(async move { probe.start().await });
        match time::timeout(limit, asked).await {
            Ok(Ok(outcome)) => outcome,
            Ok(Err(_)) => Err(Failure::connection("the probe panicked")),
            Err(elapsed) => {
                let text = format!(
                    "a call was not answered in time, and a probe not within {limit:?}, the probe timeout of the layer"
                );
                Err(Failure::timeout(text).because(elapsed))
            }
        }
    }
}

impl<C: Clone + Send + 'static> Drop for Probing<C> {
    fn drop(&mut self) {
        // Does nothing if this probe has ended.
        let failure = Failure::connection("a probe of the connection ended with its runtime");
        self.shared.probed(self.generation, self.id, Err(&failure));
    }
}
