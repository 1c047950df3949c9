use super::bridge::Bridge;
use crate::{
    serve::progress::{Heartbeat, Heartbeats, Report, SendHeartbeat},
    tower_mcp::ResilientLayer,
};
use ::tower_mcp::{
    McpRouter,
    protocol::{McpRequest, ProgressParams, ProgressToken},
};
use std::{convert::Infallible, future::ready, sync::Arc};

/// One call whose client gave a progress token, and can be notified.
pub(in crate::tower_mcp::server) struct Reporting {
    token: ProgressToken,
    bridge: Arc<Bridge>,
    heartbeats: Heartbeats,
}

impl Reporting {
    /// Exchanges the router for one whose reports are seen. `None` without a token, or if the router
    /// cannot notify its client.
    pub(in crate::tower_mcp::server) fn begin<S>(
        request: &McpRequest,
        router: &mut McpRouter,
        layer: &ResilientLayer<S>,
    ) -> Option<Self> {
        let (every, observers) = (layer.heartbeat, &layer.observers);
        let (meta, begin): (_, &dyn Fn() -> Heartbeats) = match request {
            McpRequest::CallTool(call) => {
                (&call.meta, &|| Heartbeats::begin(call, every, observers))
            }
            McpRequest::ReadResource(read) => {
                (&read.meta, &|| Heartbeats::begin(read, every, observers))
            }
            McpRequest::GetPrompt(get) => (&get.meta, &|| Heartbeats::begin(get, every, observers)),
            _ => return None,
        };
        let token = meta.as_ref()?.progress_token.clone()?;
        let (seen, bridge) = layer.bridges.instead_of(router)?;
        *router = seen;
        let heartbeats = begin();
        bridge.add(token.clone(), Arc::clone(heartbeats.report()));
        Some(Self {
            token,
            bridge,
            heartbeats,
        })
    }

    pub(in crate::tower_mcp::server) fn report(&self) -> &Arc<Report> {
        self.heartbeats.report()
    }

    /// Sends what the tool has reported so far.
    pub(in crate::tower_mcp::server) fn pass(&self) {
        self.bridge.pass();
    }

    /// Tells the client that the call is alive, unless its tool does so by itself. Never ends.
    pub(in crate::tower_mcp::server) async fn beat(&self) -> Infallible {
        self.heartbeats.beat(self).await
    }
}

impl SendHeartbeat for Reporting {
    fn send(&self, heartbeat: Heartbeat, message: String) -> impl Future<Output = bool> + Send {
        let params = ProgressParams {
            progress_token: self.token.clone(),
            // Set when it is sent.
            progress: 0.0,
            total: None,
            message: Some(message),
            meta: None,
        };
        ready(self.bridge.beat(heartbeat, self.report(), params))
    }
}

impl Drop for Reporting {
    fn drop(&mut self) {
        self.bridge.remove(&self.token, self.report());
    }
}
