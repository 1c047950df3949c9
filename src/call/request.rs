use super::{Arguments, Hints, Method, ToolCall};
use serde_json::{Map, Value};
use std::fmt;

/// A request of a client, with the parameters of an SDK for the three methods.
///
/// Its `Debug` shows neither arguments nor `_meta`, which may hold secrets.
#[derive(Clone)]
#[non_exhaustive]
pub enum Request<T, R, P> {
    /// `tools/call`.
    Tool(T),
    /// `resources/read`.
    Resource(R),
    /// `prompts/get`.
    Prompt(P),
}

/// A request that may continue a call. The first attempt may use up what it continues.
pub(crate) trait Continues: ToolCall {
    /// Whether it continues a call.
    fn is_continuation(&self) -> bool;

    /// The hints of the request, from those of its tool. Reading may happen twice.
    fn hints_of(&self, tool: Option<Hints>) -> Hints {
        let tool = match self.method() {
            Method::CallTool => tool.unwrap_or_default(),
            Method::ReadResource | Method::GetPrompt => Hints::new().read_only(true),
        };
        if self.is_continuation() {
            return Hints::new().with_schema_of(tool);
        }
        tool
    }
}

/// Parameters as both SDKs have them.
macro_rules! continues {
    ($($params:ty)*) => {$(
        impl $crate::call::Continues for $params {
            fn is_continuation(&self) -> bool {
                self.input_responses.is_some() || self.request_state.is_some()
            }
        }
    )*};
}
pub(crate) use continues;

impl<T: Continues, R: Continues, P: Continues> Continues for Request<T, R, P> {
    fn is_continuation(&self) -> bool {
        match self {
            Self::Tool(params) => params.is_continuation(),
            Self::Resource(params) => params.is_continuation(),
            Self::Prompt(params) => params.is_continuation(),
        }
    }
}

impl<T: ToolCall, R: ToolCall, P: ToolCall> ToolCall for Request<T, R, P> {
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

    fn meta(&self) -> Option<&Map<String, Value>> {
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

impl<T: ToolCall, R: ToolCall, P: ToolCall> fmt::Debug for Request<T, R, P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Request")
            .field("method", &self.method())
            .field("name", &self.name())
            .finish_non_exhaustive()
    }
}
