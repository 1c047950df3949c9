use super::{
    ReconnectHandle, ReconnectLayer, ResponseFuture, dial::Dial, settings::Settings, shared::Shared,
};
use crate::failure::{BoxError, Failure};
use std::{
    fmt,
    sync::Arc,
    task::{Context, Poll},
};
use tower::{Layer, Service};

/// One connection for all clones, replaced when it is lost.
///
/// Always ready. Each call waits in its own future for the connection and for its readiness, so that
/// an outer deadline covers both, and an outer log sees the outcome. See the [module page](super).
pub struct Reconnect<C: Clone + Send + 'static> {
    owner: Arc<Owner<C>>,
}

/// Held by the clones of the service and their calls, and not by the dialling task: the connection
/// ends with the last of them.
pub(super) struct Owner<C: Clone + Send + 'static> {
    pub(super) shared: Arc<Shared<C>>,
}

impl<C: Clone + Send + 'static> Drop for Owner<C> {
    fn drop(&mut self) {
        self.shared.close();
    }
}

impl<C: Clone + Send + 'static> Reconnect<C> {
    pub(super) fn with(dial: Dial<C>, settings: Settings) -> Self {
        let shared = Arc::new(Shared::new(dial, settings));
        Self {
            owner: Arc::new(Owner { shared }),
        }
    }

    /// Connects to `target` by the connector, with the [defaults](super#defaults).
    ///
    /// The [`handle`](Self::handle) gives access to the connection.
    #[must_use]
    pub fn new<M, T>(connector: M, target: T) -> Self
    where
        M: Service<T, Response = C> + Clone + Send + 'static,
        M::Error: Into<BoxError>,
        M::Future: Send,
        T: Clone + Send + 'static,
    {
        ReconnectLayer::new(target).layer(connector)
    }

    /// The handle, to watch the connection.
    #[must_use]
    pub fn handle(&self) -> ReconnectHandle<C> {
        ReconnectHandle {
            shared: Arc::clone(&self.owner.shared),
        }
    }
}

impl Reconnect<()> {
    /// The layer for connectors to `target`, with the [defaults](super#defaults).
    #[must_use]
    pub fn layer<T>(target: T) -> ReconnectLayer<T> {
        ReconnectLayer::new(target)
    }
}

impl<C, Req> Service<Req> for Reconnect<C>
where
    C: Service<Req> + Clone + Send + 'static,
    C::Error: Into<BoxError>,
{
    type Response = C::Response;
    type Error = Failure;
    type Future = ResponseFuture<C, Req>;

    #[inline]
    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Failure>> {
        Poll::Ready(Ok(()))
    }

    #[inline]
    fn call(&mut self, call: Req) -> Self::Future {
        ResponseFuture::new(call, Arc::clone(&self.owner))
    }
}

impl<C: Clone + Send + 'static> Clone for Reconnect<C> {
    fn clone(&self) -> Self {
        Self {
            owner: Arc::clone(&self.owner),
        }
    }
}

impl<C: Clone + Send + 'static> fmt::Debug for Reconnect<C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Reconnect")
            .field("shared", &self.owner.shared)
            .finish()
    }
}
