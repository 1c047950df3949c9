//! What every dial does once there is a transport.

use super::{Catalog, Connection, census::Census, connection::Inner, errors};
use crate::failure::{Delivery, Failure};
use ::rmcp::{
    ClientHandler, RoleClient,
    model::{ProtocolVersion, Tool},
    service::{ClientLifecycleMode, ClientServiceExt, RunningService, ServiceError},
    transport::IntoTransport,
};
use std::{error::Error, time::Duration};
use tokio::time;

/// The settings that all connectors have.
#[derive(Clone, Debug)]
pub(super) struct Settings<H> {
    pub(super) handler: H,
    pub(super) lifecycle: ClientLifecycleMode,
    pub(super) start_timeout: Duration,
    pub(super) call_timeout: Duration,
    pub(super) catalog: Catalog,
    pub(super) census: Census,
}

impl Default for Settings<()> {
    fn default() -> Self {
        Self {
            handler: (),
            lifecycle: ClientLifecycleMode::Initialize,
            start_timeout: Duration::from_secs(10),
            call_timeout: Duration::from_secs(60),
            catalog: Catalog::new(),
            census: Census::new(),
        }
    }
}

impl<H> Settings<H> {
    pub(super) fn with_handler<N>(self, handler: N) -> Settings<N> {
        Settings {
            handler,
            lifecycle: self.lifecycle,
            start_timeout: self.start_timeout,
            call_timeout: self.call_timeout,
            catalog: self.catalog,
            census: self.census,
        }
    }
}

/// Shakes hands, and reads the list of tools.
pub(super) async fn dial<H, T, E, A>(settings: Settings<H>, transport: T) -> Result<Inner, Failure>
where
    H: ClientHandler,
    T: IntoTransport<RoleClient, E, A>,
    E: Error + Send + Sync + 'static,
{
    let Settings {
        handler,
        lifecycle,
        start_timeout,
        call_timeout,
        catalog,
        census,
    } = settings;
    let ready = async {
        let running = handler
            .serve_with_lifecycle(transport, lifecycle)
            .await
            .map_err(errors::of_start)?;
        check_version(&running)?;
        let tools = list(&running).await?;
        Ok((running, tools))
    };
    let (running, tools) = time::timeout(start_timeout, ready)
        .await
        .unwrap_or_else(|elapsed| {
            let message = format!("the tool server was not ready within {start_timeout:?}");
            Err(Failure::timeout(message).because(elapsed))
        })
        .map_err(|failure| failure.with_delivery(Delivery::NotSent))?;
    catalog.fill(tools);
    Ok(Inner::new(running, call_timeout, census.join()))
}

/// The client is to hang up where it does not know the server's version (MCP, lifecycle); rmcp leaves
/// that to others.
fn check_version<H: ClientHandler>(running: &RunningService<RoleClient, H>) -> Result<(), Failure> {
    let server = running.peer_info();
    let version = server.map(|server| server.protocol_version.clone());
    match version {
        Some(version) if !ProtocolVersion::KNOWN_VERSIONS.contains(&version) => {
            let message =
                format!("the tool server speaks MCP `{version}`, which is not known here");
            Err(Failure::disabled(message))
        }
        _ => Ok(()),
    }
}

/// The tools of a server that has any. One that cannot list them can run them all the same: then
/// nothing is known of them.
async fn list<H: ClientHandler>(
    running: &RunningService<RoleClient, H>,
) -> Result<Vec<Tool>, Failure> {
    let has_tools = running
        .peer_info()
        .is_none_or(|server| server.capabilities.tools.is_some());
    if !has_tools {
        return Ok(Vec::new());
    }
    match running.list_all_tools().await {
        Ok(tools) => Ok(tools),
        Err(error @ (ServiceError::McpError(_) | ServiceError::UnexpectedResponse)) => {
            tracing::warn!(%error, "the tool server does not list its tools; none of them is repeated");
            Ok(Vec::new())
        }
        Err(error) => Err(errors::of_call(error)),
    }
}

impl From<Inner> for Connection {
    fn from(inner: Inner) -> Self {
        Self::new(inner)
    }
}
