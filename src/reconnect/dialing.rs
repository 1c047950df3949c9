//! The task that dials.

use super::{
    caught::caught,
    dial::Made,
    machine::{DialId, Turn},
    shared::Shared,
    status::ConnectionState,
};
use crate::{
    failure::Failure,
    observe::Event,
    telemetry::{Cause, DialSpan},
};
use std::sync::Arc;
use tokio::time::{self, Instant};

/// Starts the task of a dial. The task also makes the dials that follow.
pub(super) fn spawn<C: Clone + Send + 'static>(shared: &Arc<Shared<C>>, id: DialId) {
    // Created before the spawn: if there is no runtime, or it is shutting down, the drop lets the
    // next call dial.
    let dialing = Dialing {
        shared: Arc::clone(shared),
        id,
        cause: Cause::current(),
    };
    tokio::spawn(dialing.run());
}

/// The dial of a task. If it is dropped early, for example with its runtime, the waiting calls start
/// the next dial.
struct Dialing<C: Clone + Send + 'static> {
    shared: Arc<Shared<C>>,
    id: DialId,
    // The span of the call that started the dial.
    cause: Cause,
}

impl<C: Clone + Send + 'static> Dialing<C> {
    async fn run(mut self) {
        while self.is_due().await {
            let span = DialSpan::open(&self.cause, self.id);
            let mut states = self.shared.subscribe();
            // Biased: a shutdown wins over a dial that ends at the same time.
            let result = tokio::select! {
                biased;
                _ = states.wait_for(ConnectionState::is_closed) => return,
                result = span.around(self.dial()) => result,
            };
            if let Err(failure) = &result {
                span.fail(failure);
            }
            drop(span);
            match self.ended(result) {
                Some(next) => self.id = next,
                None => return,
            }
        }
    }

    /// Waits until the dial is due. `false` if it is no longer wanted.
    async fn is_due(&self) -> bool {
        let mut states = self.shared.subscribe();
        loop {
            let turn = |now| self.shared.tell(|machine| machine.turn(self.id, now));
            match turn(Instant::now()) {
                Turn::Dial => {
                    self.shared.change(|_| ());
                    self.tell(&Event::Dialing { dial: self.id });
                    return true;
                }
                Turn::Stop => {
                    self.shared.change(|_| ());
                    return false;
                }
                Turn::WaitUntil(due) => tokio::select! {
                    () = time::sleep_until(due) => {}
                    _ = states.changed() => {}
                },
            }
        }
    }

    async fn dial(&self) -> Result<Made<C>, Failure> {
        let limit = self.shared.settings.dial_timeout();
        let dial = caught(async { self.shared.dial.start().await });
        let failure = match time::timeout(limit, dial).await {
            Ok(Ok(result)) => return result,
            Ok(Err(_)) => Failure::connection("the connector panicked"),
            Err(elapsed) => {
                let text = format!(
                    "the tool server did not accept within {limit:?}, the dial timeout of the layer"
                );
                Failure::timeout(text).because(elapsed)
            }
        };
        Err(failure.not_sent())
    }

    fn ended(&self, result: Result<Made<C>, Failure>) -> Option<DialId> {
        if let Err(failure) = &result {
            self.tell(&Event::DialFailed {
                dial: self.id,
                failure,
            });
        }
        let wait = self.shared.draw();
        let result = result.map(|made| {
            let can_be_probed = made.probe.is_some();
            (made, can_be_probed)
        });
        let now = Instant::now();
        let ended = self
            .shared
            .change(|machine| machine.dial_ended(self.id, result, wait, now));
        drop(ended.unwanted);
        if let Some(generation) = ended.connected {
            self.tell(&Event::Connected {
                dial: self.id,
                generation,
            });
        }
        ended.next
    }

    fn tell(&self, event: &Event<'_>) {
        self.shared.settings.observers.tell(event);
    }
}

impl<C: Clone + Send + 'static> Drop for Dialing<C> {
    fn drop(&mut self) {
        // Does nothing if this dial has ended.
        self.shared.change(|machine| machine.dial_died(self.id));
    }
}
