use super::{
    PresetStack, ResilientLayer, ServerAnswer, ServerCall, dispatch::Dispatch,
    error::json_rpc_error, learned::learn,
};
use crate::{
    failure::BoxError,
    fatal::Fatal,
    serve::{Net, Running, thrown},
};
use ::tower_mcp::{
    McpRouter, RouterRequest, RouterResponse, StdioTransport,
    protocol::{McpRequest, McpResponse, ServerCapabilities},
};
use std::{
    convert::Infallible,
    fmt,
    pin::Pin,
    task::{Context, Poll},
};
use tower::{Layer, Service};

/// A router in a stack, which is the same service as the router.
///
/// Tool calls, resource reads and prompts go through the stack. Every other method goes straight to
/// the router. It is always ready, and never fails: a failure without a flagged result is a JSON-RPC
/// error in the response.
#[derive(Clone)]
pub struct Resilient<S = PresetStack> {
    router: McpRouter,
    layer: ResilientLayer<S>,
}

impl Resilient {
    /// Wraps a router in the [preset](crate::preset) with its [defaults](crate::tower_mcp#limits):
    /// one log line for each call on stderr, 10 minutes without progress for an attempt, and three
    /// attempts that begin within 55 s.
    #[must_use]
    pub fn new(router: McpRouter) -> Self {
        Self::layer().layer(router)
    }

    /// The layer, with the defaults.
    #[must_use]
    pub fn layer() -> ResilientLayer {
        ResilientLayer::new()
    }
}

impl<S> Resilient<S> {
    pub(super) fn of(router: McpRouter, layer: ResilientLayer<S>) -> Self {
        Self { router, layer }
    }

    /// The router.
    #[must_use]
    pub fn get_ref(&self) -> &McpRouter {
        &self.router
    }

    /// The router, mutably.
    #[must_use]
    pub fn get_mut(&mut self) -> &mut McpRouter {
        &mut self.router
    }

    /// Returns the router.
    #[must_use]
    pub fn into_inner(self) -> McpRouter {
        self.router
    }
}

impl<S> Resilient<S>
where
    S: Service<ServerCall, Response = ServerAnswer> + Clone + Send + 'static,
    S::Error: Into<BoxError> + Send,
    S::Future: Send,
{
    /// Serves one client over stdin and stdout: [`ResilientLayer::run`] with a [`StdioTransport`] of the
    /// router.
    ///
    /// # Errors
    ///
    /// The reason to end the process.
    pub async fn run(self) -> Result<(), Fatal> {
        self.layer.run(StdioTransport::new(self.router)).await
    }
}

impl<S> Service<RouterRequest> for Resilient<S>
where
    S: Service<ServerCall, Response = ServerAnswer> + Clone + Send + 'static,
    S::Error: Into<BoxError> + Send,
    S::Future: Send,
{
    type Response = RouterResponse;
    type Error = Infallible;
    type Future = Pin<Box<dyn Future<Output = Result<RouterResponse, Infallible>> + Send>>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        self.router.poll_ready(cx)
    }

    fn call(&mut self, request: RouterRequest) -> Self::Future {
        let id = request.id.clone();
        match request.inner {
            McpRequest::CallTool(_) | McpRequest::ReadResource(_) | McpRequest::GetPrompt(_) => {
                let dispatch = Dispatch::new(request, self.router.clone(), self.layer.clone());
                Box::pin(async move {
                    let inner = dispatch.run().await;
                    Ok(RouterResponse { id, inner })
                })
            }
            _ => {
                let answer = Net::under(self.router.call(request));
                let (learned, running) =
                    (self.layer.learned.clone(), self.layer.life.running.clone());
                Box::pin(async move {
                    // A panic would leave the client without an answer.
                    let mut inner = match answer.await {
                        Ok(Ok(response)) => response.inner,
                        Err(panic) => Err(json_rpc_error(thrown::report_panic(&panic))),
                    };
                    match &mut inner {
                        Ok(McpResponse::ListTools(page)) => learn(&learned, page),
                        Ok(McpResponse::Initialize(said)) => {
                            tell(&running, &mut said.capabilities);
                        }
                        Ok(McpResponse::Discover(said)) => tell(&running, &mut said.capabilities),
                        _ => {}
                    }
                    Ok(RouterResponse { id, inner })
                })
            }
        }
    }
}

/// Adds the abilities of the stack to the router's capabilities.
fn tell(running: &Running, capabilities: &mut ServerCapabilities) {
    if let Some(keyed) = running.keyed() {
        let (name, said) = keyed.capability(keyed.has_scope());
        let experimental = capabilities.experimental.get_or_insert_default();
        experimental.insert(name.to_owned(), said.into());
    }
}

impl<S> fmt::Debug for Resilient<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Resilient").finish_non_exhaustive()
    }
}
