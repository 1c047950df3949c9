use crate::call::{Arguments, Hints, Method, ToolCall};
#[cfg(feature = "rmcp-client")]
use ::rmcp::model::RequestMetaObject;
use ::rmcp::model::{
    CallToolRequestParams, GetPromptRequestParams, JsonObject, ReadResourceRequestParams, Tool,
};
use serde_json::Value;
use std::fmt;

/// A request of a client.
///
/// Its `Debug` shows neither arguments nor `_meta`, which may hold secrets.
#[derive(Clone)]
#[non_exhaustive]
pub enum Request {
    /// `tools/call`.
    Tool(CallToolRequestParams),
    /// `resources/read`.
    Resource(ReadResourceRequestParams),
    /// `prompts/get`.
    Prompt(GetPromptRequestParams),
}

impl Request {
    #[cfg(feature = "rmcp-client")]
    pub(super) fn meta_mut(&mut self) -> &mut Option<RequestMetaObject> {
        match self {
            Self::Tool(params) => &mut params.meta,
            Self::Resource(params) => &mut params.meta,
            Self::Prompt(params) => &mut params.meta,
        }
    }

    /// Whether it continues a call. The first attempt may use up what it continues.
    fn is_continuation(&self) -> bool {
        match self {
            Self::Tool(p) => p.input_responses.is_some() || p.request_state.is_some(),
            Self::Resource(p) => p.input_responses.is_some() || p.request_state.is_some(),
            Self::Prompt(p) => p.input_responses.is_some() || p.request_state.is_some(),
        }
    }
}

impl From<CallToolRequestParams> for Request {
    fn from(params: CallToolRequestParams) -> Self {
        Self::Tool(params)
    }
}

impl From<ReadResourceRequestParams> for Request {
    fn from(params: ReadResourceRequestParams) -> Self {
        Self::Resource(params)
    }
}

impl From<GetPromptRequestParams> for Request {
    fn from(params: GetPromptRequestParams) -> Self {
        Self::Prompt(params)
    }
}

impl ToolCall for Request {
    fn name(&self) -> &str {
        match self {
            Self::Tool(params) => params.name(),
            Self::Resource(params) => params.name(),
            Self::Prompt(params) => params.name(),
        }
    }

    fn method(&self) -> Method {
        match self {
            Self::Tool(params) => params.method(),
            Self::Resource(params) => params.method(),
            Self::Prompt(params) => params.method(),
        }
    }

    fn arguments(&self) -> Option<Arguments<'_>> {
        match self {
            Self::Tool(params) => params.arguments(),
            Self::Resource(params) => params.arguments(),
            Self::Prompt(params) => params.arguments(),
        }
    }

    fn meta(&self) -> Option<&JsonObject> {
        match self {
            Self::Tool(params) => params.meta(),
            Self::Resource(params) => params.meta(),
            Self::Prompt(params) => params.meta(),
        }
    }

    /// That of a tool call.
    fn continuation(&self) -> Option<Value> {
        match self {
            Self::Tool(params) => params.continuation(),
            Self::Resource(_) | Self::Prompt(_) => None,
        }
    }

    fn request_state_mut(&mut self) -> Option<&mut Option<String>> {
        match self {
            Self::Tool(params) => params.request_state_mut(),
            Self::Resource(_) | Self::Prompt(_) => None,
        }
    }
}

impl fmt::Debug for Request {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Request")
            .field("method", &self.method())
            .field("name", &self.name())
            .finish_non_exhaustive()
    }
}

/// The hints of a request, from those of its tool. Reading may happen twice.
pub(super) fn hints(request: &Request, tool: Option<Hints>) -> Hints {
    let tool = match request {
        Request::Tool(_) => tool.unwrap_or_default(),
        Request::Resource(_) | Request::Prompt(_) => Hints::new().read_only(true),
    };
    if request.is_continuation() {
        return Hints::new().with_schema_of(tool);
    }
    tool
}

/// The hints in a tool's listing.
pub(super) fn said_of(tool: &Tool) -> Hints {
    let hints = Hints::new().output_schema(tool.output_schema.is_some());
    match &tool.annotations {
        Some(said) => hints
            .read_only(said.read_only_hint == Some(true))
            .idempotent(said.idempotent_hint == Some(true)),
        None => hints,
    }
}
