use super::model;
use crate::call::{Arguments, Hints, Method, ToolCall};
use ::rmcp::{
    RoleServer,
    model::{
        CallToolRequestParams, GetPromptRequestParams, JsonObject, ReadResourceRequestParams, Tool,
    },
    service::RequestContext,
};
use serde_json::Value;
use std::sync::{
    Arc,
    atomic::{AtomicU32, Ordering::Relaxed},
};

/// A request that a client made of a handler, with its context.
#[derive(Clone, Debug)]
pub struct ServerCall {
    request: ServerRequest,
    context: RequestContext<RoleServer>,
    hints: Hints,
    // Shared by the copies, which are attempts at the same call.
    attempts: Arc<AtomicU32>,
}

/// What the client asks for.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum ServerRequest {
    /// `tools/call`.
    Tool(CallToolRequestParams),
    /// `resources/read`.
    Resource(ReadResourceRequestParams),
    /// `prompts/get`.
    Prompt(GetPromptRequestParams),
}

impl ServerCall {
    pub(super) fn new(
        request: ServerRequest,
        tool: Option<&Tool>,
        context: RequestContext<RoleServer>,
    ) -> Self {
        Self {
            hints: hints(&request, tool),
            request,
            context,
            attempts: Arc::default(),
        }
    }

    /// What the client asks for.
    #[must_use]
    pub fn request(&self) -> &ServerRequest {
        &self.request
    }

    /// The context in which it asks.
    #[must_use]
    pub fn context(&self) -> &RequestContext<RoleServer> {
        &self.context
    }

    /// Counts one more attempt, and gives its number.
    pub(super) fn begin_attempt(&self) -> u32 {
        self.attempts.fetch_add(1, Relaxed).saturating_add(1)
    }

    pub(super) fn into_parts(self) -> (ServerRequest, RequestContext<RoleServer>) {
        (self.request, self.context)
    }
}

impl ToolCall for ServerCall {
    fn name(&self) -> &str {
        match &self.request {
            ServerRequest::Tool(params) => params.name(),
            ServerRequest::Resource(params) => params.name(),
            ServerRequest::Prompt(params) => params.name(),
        }
    }

    fn method(&self) -> Method {
        match &self.request {
            ServerRequest::Tool(_) => Method::CallTool,
            ServerRequest::Resource(_) => Method::ReadResource,
            ServerRequest::Prompt(_) => Method::GetPrompt,
        }
    }

    fn arguments(&self) -> Option<Arguments<'_>> {
        match &self.request {
            ServerRequest::Tool(params) => params.arguments(),
            ServerRequest::Resource(params) => params.arguments(),
            ServerRequest::Prompt(params) => params.arguments(),
        }
    }

    /// rmcp moves a request's `_meta` into its context.
    fn meta(&self) -> Option<&JsonObject> {
        Some(model::object(&self.context.meta))
    }

    fn hints(&self) -> Hints {
        self.hints
    }

    fn request_id(&self) -> Option<Value> {
        Some(self.context.id.clone().into_json_value())
    }

    /// The header of the HTTP request that carried it, if HTTP did.
    fn session_id(&self) -> Option<&str> {
        let parts = self.context.extensions.get::<::http::request::Parts>()?;
        parts.headers.get("mcp-session-id")?.to_str().ok()
    }
}

fn hints(request: &ServerRequest, tool: Option<&Tool>) -> Hints {
    let is_continuation = match request {
        ServerRequest::Tool(p) => p.input_responses.is_some() || p.request_state.is_some(),
        ServerRequest::Resource(p) => p.input_responses.is_some() || p.request_state.is_some(),
        ServerRequest::Prompt(p) => p.input_responses.is_some() || p.request_state.is_some(),
    };
    let hints = Hints::new().output_schema(tool.is_some_and(|tool| tool.output_schema.is_some()));
    if is_continuation {
        // What it continues may be used up by the first attempt.
        return hints;
    }
    let ServerRequest::Tool(_) = request else {
        return hints.read_only(true);
    };
    match tool.and_then(|tool| tool.annotations.as_ref()) {
        Some(said) => hints
            .read_only(said.read_only_hint == Some(true))
            .idempotent(said.idempotent_hint == Some(true)),
        None => hints,
    }
}
