/// Which request of MCP a call is.
///
/// All three go through the same stack. Only a tool's result has a flag. The other two fail with a
/// JSON-RPC error.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Method {
    /// `tools/call`; the name is the tool's.
    #[default]
    CallTool,
    /// `resources/read`; the name is the URI.
    ReadResource,
    /// `prompts/get`; the name is the prompt's.
    GetPrompt,
}

impl Method {
    /// The name on the wire.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::CallTool => "tools/call",
            Self::ReadResource => "resources/read",
            Self::GetPrompt => "prompts/get",
        }
    }

    /// The method with this name on the wire.
    #[cfg(any(feature = "rmcp", feature = "tower-mcp"))]
    pub(crate) fn of_name(name: &str) -> Option<Self> {
        let mut methods = [Self::CallTool, Self::ReadResource, Self::GetPrompt].into_iter();
        methods.find(|method| method.as_str() == name)
    }

    /// The kind of the call's name. It is the key of the name in a log line or an error.
    #[must_use]
    pub const fn subject(self) -> &'static str {
        match self {
            Self::CallTool => "tool",
            Self::ReadResource => "uri",
            Self::GetPrompt => "prompt",
        }
    }
}
