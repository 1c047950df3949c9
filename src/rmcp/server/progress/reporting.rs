use super::{Bridges, outgoing::Outgoing};
use crate::{
    call::ToolCall,
    observe::Observers,
    serve::progress::{Heartbeat, Heartbeats, Report, SendHeartbeat},
};
use ::rmcp::{
    Peer, RoleServer,
    model::{ProgressNotification, ProgressNotificationParam, ProgressToken},
    service::RequestContext,
};
use std::{convert::Infallible, future::pending, sync::Arc, time::Duration};

/// One call whose client gave a progress token, and whose messages can be seen.
pub(in crate::rmcp::server) struct Reporting {
    token: ProgressToken,
    outgoing: Outgoing,
    peer: Peer<RoleServer>,
    heartbeats: Heartbeats,
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
        let heartbeats = Heartbeats::begin(call, heartbeat, observers);
        outgoing.add(token.clone(), Arc::clone(heartbeats.report()));
        Some(Self {
            token,
            outgoing,
            peer: context.peer.clone(),
            heartbeats,
        })
    }

    pub(in crate::rmcp::server) fn report(&self) -> Arc<Report> {
        Arc::clone(self.heartbeats.report())
    }

    /// Tells the client that the call is alive, unless its tool does so by itself. Never ends.
    pub(in crate::rmcp::server) async fn beat(reporting: Option<&Self>) -> Infallible {
        match reporting {
            Some(call) => call.heartbeats.beat(call).await,
            None => pending().await,
        }
    }
}

impl SendHeartbeat for Reporting {
    async fn send(&self, heartbeat: Heartbeat, message: String) -> bool {
        // Its value is set when it is sent.
        let params = ProgressNotificationParam::new(self.token.clone(), 0.0);
        let mut notification = ProgressNotification::new(params.with_message(message));
        notification.extensions.insert(heartbeat);
        let sent = self.peer.send_notification(notification.into()).await;
        sent.is_ok()
    }
}

impl Drop for Reporting {
    fn drop(&mut self) {
        self.outgoing.remove(&self.token, self.heartbeats.report());
    }
}
