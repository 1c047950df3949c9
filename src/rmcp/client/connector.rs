use super::{Catalog, Connection, census::Census};
use crate::failure::Failure;
use std::time::Duration;
use tower::Service;

/// What makes connections to one server: [`ChildProcess`](super::ChildProcess), or
/// [`Http`](super::Http) with the feature `rmcp-client-http`.
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
    fn catalog(&self) -> Catalog;
    fn census(&self) -> Census;
    fn start_timeout(&self) -> Duration;
}
