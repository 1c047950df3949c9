//! Servers over a transport of your own.

use super::{
    connector::{dials, settings_of},
    dial::dial,
    settings::Settings,
    transport_parts::TransportParts,
    wire::{Stdio as Wire, Unread},
};
use crate::{
    call::{Route, Side},
    failure::{BoxError, Failure},
};
use ::rmcp::{ClientHandler, RoleClient, transport::Transport};
use std::{error::Error, fmt};
use tokio::io::{AsyncRead, AsyncWrite};
use tower::Service;

/// Connects over a transport that a function makes for each connection: for Unix sockets, pipes in
/// memory, OAuth clients of rmcp (`AuthClient`), or test doubles.
///
/// The [`Client`](super::Client) does the rest, as for the other connectors: handshake, list of
/// tools, progress, limits, reconnects, log. Use [`line_transport`] for a pair of byte streams.
///
/// ```no_run
/// use mcp_resilience::rmcp::client::{Client, line_transport, transport_fn};
/// use tokio::net::UnixStream;
///
/// # async fn run() -> Result<(), mcp_resilience::Failure> {
/// let connector = transport_fn(|| async {
///     let stream = UnixStream::connect("/run/tools.sock").await?;
///     let (reader, writer) = stream.into_split();
///     Ok::<_, std::io::Error>(line_transport(reader, writer))
/// });
/// let client = Client::connect(connector).await?;
/// # let _ = client;
/// # Ok(())
/// # }
/// ```
///
/// # Errors
///
/// An error of the function is the failure of the dial. A [`Failure`] keeps its class; an I/O error
/// has its usual class; any other error is `Connection`. The function and the handshake share the
/// time of [`start_timeout`](TransportFn::start_timeout); then the future is dropped.
///
/// The errors of a call are known for rmcp's transports over byte streams and over reqwest. An error
/// of another transport is `Connection`, of unknown delivery. rmcp's HTTP transport sends a call
/// again after a lost session, unless its `reinit_on_expired_session` is off.
pub fn transport_fn<F, Fut, T, E>(make: F) -> TransportFn<F>
where
    F: Fn() -> Fut + Clone + Send + 'static,
    Fut: Future<Output = Result<T, E>> + Send + 'static,
    T: Transport<RoleClient> + 'static,
    T::Error: Error + Send + Sync + 'static,
    E: Into<BoxError>,
{
    TransportFn {
        make,
        settings: Settings::default(),
    }
}

/// A transport with one message a line, as over stdio. It repairs common errors of servers; see [what
/// becomes of a call](super#what-becomes-of-a-call).
pub fn line_transport<R, W>(
    reader: R,
    writer: W,
) -> impl Transport<RoleClient, Error: Error + Send + Sync> + use<R, W>
where
    R: AsyncRead + Send + Unpin + 'static,
    W: AsyncWrite + Send + Unpin + 'static,
{
    Wire::new(reader, writer, Unread::default())
}

/// The connector that [`transport_fn`] makes.
#[derive(Clone)]
#[must_use = "a connector does nothing until a client gets it"]
pub struct TransportFn<F, H = ()> {
    make: F,
    settings: Settings<H>,
}

impl<F, H> TransportFn<F, H> {
    /// The handler of the server's own requests. Each connection gets a clone.
    pub fn handler<N: ClientHandler + Clone>(self, handler: N) -> TransportFn<F, N> {
        TransportFn {
            make: self.make,
            settings: self.settings.with_handler(handler),
        }
    }
}

impl<F, Fut, T, E, H> Service<()> for TransportFn<F, H>
where
    F: Fn() -> Fut + Clone + Send + 'static,
    Fut: Future<Output = Result<T, E>> + Send + 'static,
    T: Transport<RoleClient> + 'static,
    T::Error: Error + Send + Sync + 'static,
    E: Into<BoxError>,
    H: ClientHandler + Clone,
{
    dials!(self => {
        let Self { make, settings } = self.clone();
        async move {
            let shared = settings.shared();
            let transport = async move { make().await.map_err(Failure::from_any) };
            let parts = TransportParts::new(Route::new(Side::Client));
            Ok(dial(settings, &shared, parts, transport).await?.into())
        }
    });
}

settings_of!(TransportFn, F);

impl<F, H> fmt::Debug for TransportFn<F, H> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TransportFn")
            .field("start_timeout", &self.settings.start_timeout)
            .field("call_timeout", &self.settings.call_timeout)
            .finish_non_exhaustive()
    }
}
