use crate::call::{self, Hints, continues};
#[cfg(feature = "rmcp-client")]
use ::rmcp::model::RequestMetaObject;
use ::rmcp::model::{
    CallToolRequestParams, GetPromptRequestParams, ReadResourceRequestParams, Tool,
};

/// A request of a client.
pub type Request =
    call::Request<CallToolRequestParams, ReadResourceRequestParams, GetPromptRequestParams>;

continues! { CallToolRequestParams ReadResourceRequestParams GetPromptRequestParams }

#[cfg(feature = "rmcp-client")]
impl Request {
    pub(super) fn meta_mut(&mut self) -> &mut Option<RequestMetaObject> {
        match self {
            Self::Tool(params) => &mut params.meta,
            Self::Resource(params) => &mut params.meta,
            Self::Prompt(params) => &mut params.meta,
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
