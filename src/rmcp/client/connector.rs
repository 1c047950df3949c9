use super::{Connection, settings::Shared};
use crate::failure::Failure;
use std::time::Duration;
use tower::Service;

/// What makes connections to one server: [`ChildProcess`](super::ChildProcess), or
/// [`Http`](super::Http) with the feature `rmcp-client-http`.
///
/// Clones share no connection and nothing that a server said: give one to each client.
///
/// Sealed. A connector of your own goes under [`reconnect`](crate::reconnect) by itself.
pub trait Connector:
    Sealed + Service<(), Response = Connection, Error = Failure, Future: Send> + Clone + Send + 'static
{
}

impl<C> Connector for C where
    C: Sealed
        + Service<(), Response = Connection, Error = Failure, Future: Send>
        + Clone
        + Send
        + 'static
{
}

pub trait Sealed {
    /// Makes it the connector of one client.
    #[must_use]
    fn share(self, shared: Shared) -> Self;
    fn start_timeout(&self) -> Duration;
}
