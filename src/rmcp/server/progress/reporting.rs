use super::{
    Bridges, Report,
    outgoing::{Heartbeat, Outgoing},
};
use crate::{
    call::ToolCall,
    observe::{Event, Name, Observers},
};
use ::rmcp::{
    Peer, RoleServer,
    model::{ProgressNotification, ProgressNotificationParam, ProgressToken},
    service::RequestContext,
};
use std::{convert::Infallible, future::pending, sync::Arc, time::Duration};
use tokio::time::{Instant, sleep_until};

/// One call whose client gave a progress token, and whose messages can be seen.
pub(in crate::rmcp::server) struct Reporting {
    token: ProgressToken,
    report: Arc<Report>,
    outgoing: Outgoing,
    peer: Peer<RoleServer>,
    heartbeat: Option<Duration>,
    observers: Observers,
    // Only with an observer of the user's.
    name: Option<Name>,
    begun: Instant,
}

impl Reporting {
    /// Registers the call, so that its reports are seen. `None` without a token, or if nothing can be
    /// seen.
    pub(in crate::rmcp::server) fn begin(
        call: &impl ToolCall,
        context: &mut RequestContext<RoleServer>,
        bridges: &Bridges,
        heartbeat: Option<Duration>,
        observers: &Observers,
    ) -> Option<Self> {
        let token = context.meta.get_progress_token()?;
        let outgoing = if let Some(outgoing) = context.extensions.remove::<Outgoing>() {
            outgoing
        } else {
            let (peer, outgoing) = bridges.instead_of(context)?;
            context.peer = peer;
            outgoing
        };
        let report = Arc::<Report>::default();
        outgoing.add(token.clone(), Arc::clone(&report));
        Some(Self {
            token,
            report,
            outgoing,
            peer: context.peer.clone(),
            heartbeat,
            observers: observers.clone(),
            name: observers.is_own().then(|| Name::of(call)),
            begun: Instant::now(),
        })
    }

    pub(in crate::rmcp::server) fn report(&self) -> Arc<Report> {
        Arc::clone(&self.report)
    }

    /// Reports to the client that the call is alive, unless its tool reports progress. Never ends.
    pub(in crate::rmcp::server) async fn beat(reporting: Option<&Self>) -> Infallible {
        let call = reporting.and_then(|call| Some((call, call.heartbeat?)));
        let Some((call, every)) = call else {
            return pending().await;
        };
        let mut told = call.begun;
        loop {
            // A period that cannot be expressed turns heartbeats off.
            let Some(due) = told.checked_add(every) else {
                return pending().await;
            };
            sleep_until(due).await;
            told = match call.report.heartbeat(told) {
                Ok(heartbeat) => {
                    call.send(heartbeat).await;
                    // The time to send one does not delay the next, unless it is long.
                    let is_late = due.elapsed() >= every;
                    if is_late { Instant::now() } else { due }
                }
                Err(reported) => reported,
            };
        }
    }

    async fn send(&self, heartbeat: Heartbeat) {
        let message = self.report.message(self.begun.elapsed());
        // Its value is set when it is sent.
        let params = ProgressNotificationParam::new(self.token.clone(), 0.0);
        let mut notification = ProgressNotification::new(params.with_message(message));
        notification.extensions.insert(heartbeat);
        let before = self.report.heartbeats();
        // A client that is gone needs none.
        let sent = self.peer.send_notification(notification.into()).await;
        // It was not sent if the tool reported in the meantime.
        if sent.is_ok() && self.report.heartbeats() > before {
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

impl Drop for Reporting {
    fn drop(&mut self) {
        self.outgoing.remove(&self.token, &self.report);
    }
}
