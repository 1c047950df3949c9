//! The steps of every dial, over any transport.

use super::{
    announced::Announced,
    connection::Inner,
    errors,
    lister::Lister,
    settings::{Settings, Shared},
    transport_parts::TransportParts,
};
use crate::{failure::Failure, rmcp::capability};
use ::rmcp::{
    ClientHandler, RoleClient,
    model::ProtocolVersion,
    service::{ClientCacheConfig, ClientServiceExt, RunningService},
    transport::Transport,
};
use std::error::Error;
use tokio::time::{self, Instant};

/// Creates a transport, makes the handshake over it, and reads the list of tools.
pub(super) async fn dial<H, T>(
    settings: Settings<H>,
    shared: &Shared,
    mut parts: TransportParts,
    transport: impl Future<Output = Result<T, Failure>>,
) -> Result<Inner, Failure>
where
    H: ClientHandler,
    T: Transport<RoleClient> + 'static,
    T::Error: Error + Send + Sync + 'static,
{
    let Settings {
        handler,
        lifecycle,
        start_timeout,
        call_timeout,
        ..
    } = settings;
    let begun = Instant::now();
    let handshake = async {
        let transport = transport.await?;
        let transport = Announced::new(transport, shared.catalog.clone(), parts.incoming.clone());
        let running = handler
            .serve_with_lifecycle(transport, lifecycle)
            .await
            .map_err(errors::of_start)?;
        check_version(&running)?;
        // rmcp's cache would answer for a server that is gone.
        running
            .peer()
            .set_response_cache_config(ClientCacheConfig::disabled())
            .await;
        Ok(running)
    };
    let running = time::timeout(start_timeout, handshake)
        .await
        .unwrap_or_else(|elapsed| {
            let text = format!("the tool server was not ready within {start_timeout:?}");
            Err(errors::too_late(&text, "start_timeout").because(elapsed))
        })
        .map_err(Failure::not_sent)?;
    let mut honoured = None;
    if let Some(server) = running.peer_info() {
        let version = server.protocol_version.to_string();
        parts.route = parts.route.with_protocol_version(version);
        let said = capability::of(&server.capabilities);
        honoured = said.filter(|said| said.is_stable || !parts.renews_token);
    }
    shared.catalog.set_server(parts.route.clone(), honoured);
    let lister = Lister::new(running.peer().clone(), shared.catalog.clone());
    let (limit, setting) = shared.limit_of_steps(start_timeout);
    let remains = limit.saturating_sub(begun.elapsed());
    let first = lister.begin(limit / 2, remains, setting).await;
    let pauses = first.map_err(|error| {
        Failure::connection("the tool server closed the connection before it was ready")
            .not_sent()
            .because(error)
    })?;
    let remains = limit.saturating_sub(begun.elapsed());
    let (peer, opening) = (running.peer(), &parts.opening);
    shared.kept.restore(peer, opening, remains).await;
    if lister.catalog().failure().is_none() {
        shared.compare_policies();
    }
    let in_flight = &shared.in_flight;
    Ok(Inner::new(
        running,
        parts,
        call_timeout,
        in_flight,
        lister,
        pauses,
    ))
}

/// A client has to hang up if it does not know the server's version (MCP, lifecycle). rmcp does not.
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
