use super::report::{Heartbeat, Report};
use crate::{
    call::ToolCall,
    observe::{Event, Name, Observers},
};
use std::{convert::Infallible, future::pending, sync::Arc, time::Duration};
use tokio::time::{Instant, sleep_until};

/// The default interval: the SDKs' clients hang up after 60 s.
pub(crate) const HEARTBEAT: Duration = Duration::from_secs(15);

/// The heartbeats of one call whose client gave a progress token.
pub(crate) struct Heartbeats {
    report: Arc<Report>,
    every: Option<Duration>,
    observers: Observers,
    // Only with an observer of the user's.
    name: Option<Name>,
    begun: Instant,
}

/// The way of a heartbeat to the client.
pub(crate) trait SendHeartbeat {
    /// Sends it, unless the tool has reported meanwhile. Returns whether that went well: a client that
    /// is gone needs none.
    fn send(&self, heartbeat: Heartbeat, message: String) -> impl Future<Output = bool> + Send;
}

impl Heartbeats {
    pub(crate) fn begin(
        call: &impl ToolCall,
        every: Option<Duration>,
        observers: &Observers,
    ) -> Self {
        Self {
            report: Arc::default(),
            every,
            observers: observers.clone(),
            name: observers.is_own().then(|| Name::of(call)),
            begun: Instant::now(),
        }
    }

    pub(crate) fn report(&self) -> &Arc<Report> {
        &self.report
    }

    /// Tells the client that the call is alive, unless its tool does so by itself. Never ends.
    pub(crate) async fn beat(&self, client: &impl SendHeartbeat) -> Infallible {
        let Some(every) = self.every else {
            return pending().await;
        };
        let mut told = self.begun;
        loop {
            // A period that cannot be expressed is none.
            let Some(due) = told.checked_add(every) else {
                return pending().await;
            };
            sleep_until(due).await;
            told = match self.report.heartbeat(told) {
                Ok(heartbeat) => {
                    self.send(heartbeat, client).await;
                    // The time to send one does not delay the next, unless it is long.
                    let is_late = due.elapsed() >= every;
                    if is_late { Instant::now() } else { due }
                }
                Err(reported) => reported,
            };
        }
    }

    async fn send(&self, heartbeat: Heartbeat, client: &impl SendHeartbeat) {
        let message = self.report.message(self.begun.elapsed());
        let before = self.report.heartbeats();
        let is_well = client.send(heartbeat, message).await;
        // It was not sent if the tool reported meanwhile.
        if is_well && self.report.heartbeats() > before {
            self.tell();
        }
    }

    fn tell(&self) {
        if let Some(name) = &self.name {
            self.observers.tell(&Event::HeartbeatSent {
                call: name.call(self.report.attempt()),
                elapsed: self.begun.elapsed(),
            });
        }
    }
}
