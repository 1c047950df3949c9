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
use tokio::time::{Instant, MissedTickBehavior, interval_at};

/// One call whose client gave a token for progress, and whose messages can be seen.
pub(in crate::rmcp::server) struct Reporting {
    token: ProgressToken,
    report: Arc<Report>,
    outgoing: Outgoing,
    peer: Peer<RoleServer>,
    heartbeat: Option<Duration>,
    observers: Observers,
    // Only if the user watches.
    name: Option<Name>,
    begun: Instant,
}

impl Reporting {
    /// Has the call's reports seen from here on. `None` without a token, or if nothing can be seen.
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

    /// Tells the client, again and again, that the call is alive, unless its tool does. Never ends.
    pub(in crate::rmcp::server) async fn beat(reporting: Option<&Self>) -> Infallible {
        let call = reporting.and_then(|call| Some((call, call.heartbeat?)));
        let Some((call, every)) = call else {
            return pending().await;
        };
        // A period beyond the end of time is none.
        let Some(first) = call.begun.checked_add(every) else {
            return pending().await;
        };
        // By the clock of the call: how long a heartbeat takes to leave does not delay the next.
        let mut beats = interval_at(first, every);
        beats.set_missed_tick_behavior(MissedTickBehavior::Skip);
        loop {
            beats.tick().await;
            if let Some(message) = call.report.message(call.begun.elapsed()) {
                call.send(message).await;
            }
        }
    }

    async fn send(&self, message: String) {
        // Its value is set when it leaves.
        let params = ProgressNotificationParam::new(self.token.clone(), 0.0);
        let mut heartbeat = ProgressNotification::new(params.with_message(message));
        heartbeat.extensions.insert(Heartbeat);
        let before = self.report.heartbeats();
        // A client that is gone needs none.
        let sent = self.peer.send_notification(heartbeat.into()).await;
        // It did not leave if the tool reported meanwhile.
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
