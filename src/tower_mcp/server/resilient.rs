use super::{
    PresetStack, ResilientLayer, ServerAnswer, ServerCall, dispatch::dispatch,
    error::json_rpc_error, learned::learn, progress::Reporting,
};
use crate::{
    failure::BoxError,
    fatal::Fatal,
    serve::{CatchPanics, thrown},
};
use ::tower_mcp::{
    McpRouter, RouterRequest, RouterResponse, StdioTransport,
    protocol::{McpRequest, McpResponse, ServerCapabilities},
};
use std::{
    convert::Infallible,
    fmt,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
};
use tower::{Layer, Service};

/// A router in a stack, which is the same service as the router.
///
/// Tool calls, resource reads and prompts go through the stack. Every other method goes straight to
/// the router. It is always ready, and never fails: a failure without a flagged result is a JSON-RPC
/// error in the response.
///
/// ```no_run
/// use mcp_resilience::tower_mcp::Resilient;
/// use tower_mcp::McpRouter;
///
/// # async fn run() -> Result<(), mcp_resilience::fatal::Fatal> {
/// let router = McpRouter::new().server_info("bookshop", "1.0.0");
/// Resilient::new(router).run().await
/// # }
/// ```
#[derive(Clone)]
pub struct Resilient<S = PresetStack> {
    router: McpRouter,
    // One for all clones: tower-mcp makes one for each request.
    layer: Arc<ResilientLayer<S>>,
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
        Self {
            router,
            layer: Arc::new(layer),
        }
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
    S: Service<ServerCall, Response = ServerAnswer> + Clone + Send + Sync + 'static,
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
        let layer = Arc::unwrap_or_clone(self.layer);
        layer.run(StdioTransport::new(self.router)).await
    }
}

impl<S> Service<RouterRequest> for Resilient<S>
where
    S: Service<ServerCall, Response = ServerAnswer> + Clone + Send + Sync + 'static,
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
                let (layer, mut router) = (Arc::clone(&self.layer), self.router.clone());
                let reporting = Reporting::begin(&request.inner, &mut router, &layer);
                let report = reporting.as_ref().map(Reporting::report);
                let call = ServerCall::new(request, router, report);
                Box::pin(async move {
                    let inner = dispatch(&layer, call, reporting.as_ref()).await;
                    Ok(RouterResponse { id, inner })
                })
            }
            _ => {
                let answer = CatchPanics::new(self.router.call(request));
                let layer = Arc::clone(&self.layer);
                Box::pin(async move {
                    // A panic would leave the client without an answer.
                    let mut inner = match answer.await {
                        Ok(Ok(response)) => response.inner,
                        Err(panic) => Err(json_rpc_error(thrown::report_panic(&panic))),
                    };
                    match &mut inner {
                        Ok(McpResponse::ListTools(page)) => learn(&layer.learned, page),
                        Ok(McpResponse::Initialize(said)) => layer.tell(&mut said.capabilities),
                        Ok(McpResponse::Discover(said)) => layer.tell(&mut said.capabilities),
                        _ => {}
                    }
                    Ok(RouterResponse { id, inner })
                })
            }
        }
    }
}

impl<S> ResilientLayer<S> {
    /// Adds to what the router says of itself that the stack honours keys, if they arrive: a client repeats
    /// calls with a key that it would not repeat otherwise.
    fn tell(&self, capabilities: &mut ServerCapabilities) {
        if let Some(keyed) = self.life.running.keyed()
            && self.keys_arrive
        {
            let (name, said) = keyed.capability(keyed.has_scope());
            let experimental = capabilities.experimental.get_or_insert_default();
            experimental.insert(name.to_owned(), said.into());
        }
    }
}

impl<S> fmt::Debug for Resilient<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Resilient").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::ResilientLayer;
    use crate::{idempotency::IdempotencyLayer, preset::ResilienceLayer};
    use ::tower_mcp::{JsonRpcRequest, JsonRpcService, McpRouter};
    use serde_json::{Value, json};
    use tower::Layer;

    #[tokio::test]
    async fn a_server_says_that_it_honours_keys_only_where_they_arrive() {
        for keys_arrive in [false, true] {
            let preset = ResilienceLayer::builder().idempotency(IdempotencyLayer::new());
            let mut layer = ResilientLayer::with_preset(&preset.build().expect("a preset"));
            layer.keys_arrive = keys_arrive;
            let mut service = JsonRpcService::new(layer.layer(McpRouter::new()));
            let client = json!({"name": "raw", "version": "1"});
            let params = json!({
                "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": client,
            });
            let request = JsonRpcRequest::new(0, "initialize").with_params(params);
            let answer = json!(service.call_single(request).await.expect("an answer"));
            let experimental = &answer["result"]["capabilities"]["experimental"];
            let said = &experimental["io.crates.mcp-resilience/idempotency"];
            assert_eq!(*said != Value::Null, keys_arrive, "{answer}");
        }
    }
}
