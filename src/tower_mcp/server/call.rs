use super::cancellation::Cancellation;
use crate::{
    call::{
        self, Arguments, Hints, IdempotencyKey, InvalidKey, Method, Progress, Ticker, ToolCall,
    },
    idempotency::IdempotencyHandle,
    serve::Attempt,
    tower_mcp::{SessionId, model},
};
use ::tower_mcp::{
    McpRouter, RouterRequest, TraceContext,
    protocol::{McpRequest, RequestId},
};
use serde_json::{Map, Value, json};
use std::{
    fmt,
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering::Relaxed},
    },
};

/// A request on its way through the stack, with the router that has to answer it.
///
/// The router is that of the client's session: one stack serves all sessions.
#[derive(Clone)]
pub struct ServerCall {
    request: RouterRequest,
    router: McpRouter,
    hints: Hints,
    // Those of a prompt, which tower-mcp does not hold as JSON.
    arguments: Option<Value>,
    meta: Option<Map<String, Value>>,
    // Shared by the copies, which are attempts at the same call.
    attempts: Arc<AtomicU32>,
    cancellation: Arc<Cancellation>,
    progress: Progress,
    // Only if a run may outlive its request.
    explicit: Option<call::Cancellation>,
    key: Option<Result<IdempotencyKey, InvalidKey>>,
}

impl ServerCall {
    pub(super) fn new(
        mut request: RouterRequest,
        router: McpRouter,
        hints: Option<Hints>,
        cancellation: Arc<Cancellation>,
    ) -> Self {
        request.extensions.insert(cancellation.token());
        let trace = request.extensions.get::<TraceContext>();
        Self {
            hints: model::hints(&request.inner, hints),
            arguments: prompt_arguments(&request.inner),
            meta: trace.map(|trace| {
                let traceparent = Value::from(trace.traceparent());
                Map::from_iter([("traceparent".to_owned(), traceparent)])
            }),
            request,
            router,
            attempts: Arc::default(),
            cancellation,
            progress: Progress::new(),
            explicit: None,
            key: None,
        }
    }

    /// The same call, which may outlive its request, with the key that came in its `_meta`.
    pub(super) fn remembered(
        mut self,
        keyed: &IdempotencyHandle,
        of_meta: Option<Result<IdempotencyKey, InvalidKey>>,
        explicit: call::Cancellation,
    ) -> Self {
        let of_extensions = || self.request.extensions.get().cloned().map(Ok);
        let of_arguments = || IdempotencyKey::of_request(None, self.arguments());
        self.key = of_meta
            .or_else(of_extensions)
            .or_else(of_arguments)
            .or_else(|| keyed.key_of_argument(&self));
        self.explicit = Some(explicit);
        self
    }

    /// The request.
    #[must_use]
    pub fn request(&self) -> &RouterRequest {
        &self.request
    }

    /// The router that has to answer.
    #[must_use]
    pub fn router(&self) -> &McpRouter {
        &self.router
    }

    /// Counts one more attempt, and returns its number.
    pub(super) fn begin_attempt(&self) -> u32 {
        self.attempts.fetch_add(1, Relaxed).saturating_add(1)
    }

    pub(super) fn cancellation(&self) -> &Arc<Cancellation> {
        &self.cancellation
    }

    /// The request for an attempt, with the extensions for a handler.
    pub(super) fn into_parts(mut self, attempt: u32) -> (RouterRequest, McpRouter) {
        self.request.extensions.insert(Attempt::new(attempt));
        if let Some(Ok(key)) = self.key {
            self.request.extensions.insert::<IdempotencyKey>(key);
        }
        self.request
            .extensions
            .insert::<Ticker>(self.progress.ticker());
        (self.request, self.router)
    }
}

fn prompt_arguments(request: &McpRequest) -> Option<Value> {
    let McpRequest::GetPrompt(params) = request else {
        return None;
    };
    let arguments = params.arguments.iter();
    let arguments = arguments.map(|(name, value)| (name.clone(), Value::from(&**value)));
    Some(Value::Object(arguments.collect()))
}

impl ToolCall for ServerCall {
    fn name(&self) -> &str {
        match &self.request.inner {
            McpRequest::CallTool(params) => params.name(),
            McpRequest::ReadResource(params) => params.name(),
            McpRequest::GetPrompt(params) => params.name(),
            other => other.method_name(),
        }
    }

    fn method(&self) -> Method {
        match &self.request.inner {
            McpRequest::ReadResource(_) => Method::ReadResource,
            McpRequest::GetPrompt(_) => Method::GetPrompt,
            _ => Method::CallTool,
        }
    }

    fn arguments(&self) -> Option<Arguments<'_>> {
        match &self.request.inner {
            McpRequest::CallTool(params) => params.arguments(),
            _ => self.arguments.as_ref().map(Arguments::from),
        }
    }

    /// Only the trace context: tower-mcp keeps no other foreign members.
    fn meta(&self) -> Option<&Map<String, Value>> {
        self.meta.as_ref()
    }

    fn hints(&self) -> Hints {
        self.hints
    }

    fn request_id(&self) -> Option<Value> {
        match &self.request.id {
            RequestId::Number(number) => Some(Value::from(*number)),
            RequestId::String(text) => Some(Value::from(&**text)),
            _ => None,
        }
    }

    /// A [`SessionId`] in the extensions, which an HTTP server may bridge there.
    fn session_id(&self) -> Option<&str> {
        let id = self.request.extensions.get::<SessionId>()?;
        Some(id.as_str())
    }

    fn progress(&self) -> Option<&Progress> {
        Some(&self.progress)
    }

    /// The key in `_meta`, over stdio; else one in the extensions, from an HTTP server; else that in
    /// the argument that is named for the tool.
    fn idempotency_key(&self) -> Option<Result<IdempotencyKey, InvalidKey>> {
        self.key.clone()
    }

    fn continuation(&self) -> Option<Value> {
        let McpRequest::CallTool(params) = &self.request.inner else {
            return None;
        };
        let (responses, state) = (&params.input_responses, &params.request_state);
        (responses.is_some() || state.is_some())
            .then(|| json!({"inputResponses": responses, "requestState": state}))
    }

    fn request_state_mut(&mut self) -> Option<&mut Option<String>> {
        match &mut self.request.inner {
            McpRequest::CallTool(params) => Some(&mut params.request_state),
            _ => None,
        }
    }

    fn cancellation(&self) -> Option<&call::Cancellation> {
        self.explicit.as_ref()
    }
}

impl fmt::Debug for ServerCall {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ServerCall")
            .field("method", &self.method())
            .field("hints", &self.hints)
            .finish_non_exhaustive()
    }
}
