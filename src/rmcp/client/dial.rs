//! What every dial does once there is a transport.

use super::{Connection, connection::Inner, errors, settings::Settings};
use crate::failure::{Chain, Failure};
use ::rmcp::{
    ClientHandler, Peer, RoleClient,
    model::{PaginatedRequestParams, ProtocolVersion, Tool},
    service::{ClientCacheConfig, ClientServiceExt, RunningService, ServiceError},
    transport::IntoTransport,
};
use std::{error::Error, time::Duration};
use tokio::time;

/// How many tools are remembered.
const TOOLS: usize = 10_000;

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
        // A cache of rmcp's would answer for a server that is not there any more.
        let peer = running.peer();
        peer.set_response_cache_config(ClientCacheConfig::disabled())
            .await;
        let tools = list(peer, start_timeout / 2).await?;
        Ok((running, tools))
    };
    let (running, tools) = time::timeout(start_timeout, ready)
        .await
        .unwrap_or_else(|elapsed| {
            let message = format!("the tool server was not ready within {start_timeout:?}");
            Err(Failure::timeout(message).because(elapsed))
        })
        .map_err(Failure::not_sent)?;
    catalog.fill(tools);
    Ok(Inner::new(running, call_timeout, &census))
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

/// The tools of a server that has any. One that cannot list them, or not in time, can run them all the
/// same: then nothing is known of those that are missing.
pub(super) async fn list(peer: &Peer<RoleClient>, at_most: Duration) -> Result<Vec<Tool>, Failure> {
    let server = peer.peer_info();
    let has_tools = server.is_none_or(|server| server.capabilities.tools.is_some());
    let mut tools = Vec::new();
    if !has_tools {
        return Ok(tools);
    }
    let listed = time::timeout(at_most, pages(peer, &mut tools)).await;
    match listed {
        Ok(Ok(())) => {}
        Ok(Err(_)) if peer.is_transport_closed() => {
            return Err(Failure::connection(
                "the tool server closed the connection before it was ready",
            ));
        }
        Ok(Err(error)) => {
            tracing::warn!(error = %Chain(&error), "the tool server does not list its tools; what is not known is not repeated");
        }
        Err(_) => {
            tracing::warn!(
                "the tool server takes too long to list its tools; what is not known is not repeated"
            );
        }
    }
    Ok(tools)
}

async fn pages(peer: &Peer<RoleClient>, tools: &mut Vec<Tool>) -> Result<(), ServiceError> {
    let mut cursor = None;
    while tools.len() < TOOLS {
        let asked = cursor.clone();
        let page = PaginatedRequestParams::default().with_cursor(asked);
        let page = peer.list_tools(Some(page)).await?;
        tools.extend(page.tools);
        let is_last = page.next_cursor.is_none() || page.next_cursor == cursor;
        cursor = page.next_cursor;
        if is_last {
            return Ok(());
        }
    }
    tracing::warn!("the tool server lists more than {TOOLS} tools; the rest is not known");
    Ok(())
}

impl From<Inner> for Connection {
    fn from(inner: Inner) -> Self {
        Self::new(inner)
    }
}
