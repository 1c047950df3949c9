use crate::call::Method;

/// What a call asks for, as the attributes of its spans name it.
pub(crate) struct Target {
    method: Method,
    name: String,
}

impl Target {
    /// The name is masked, bounded and escaped.
    pub(crate) fn new(method: Method, name: String) -> Self {
        Self { method, name }
    }

    /// The name of the span. A URI is not part of it.
    pub(crate) fn span_name(&self) -> String {
        match self.method {
            Method::ReadResource => self.method().to_owned(),
            Method::CallTool | Method::GetPrompt => format!("{} {}", self.method(), self.name),
        }
    }

    /// `mcp.method.name`
    pub(crate) fn method(&self) -> &'static str {
        self.method.as_str()
    }

    /// `gen_ai.operation.name`
    pub(crate) fn operation(&self) -> Option<&'static str> {
        (self.method == Method::CallTool).then_some("execute_tool")
    }

    /// `gen_ai.tool.name`
    pub(crate) fn tool(&self) -> Option<&str> {
        self.named(Method::CallTool)
    }

    /// `gen_ai.prompt.name`
    pub(crate) fn prompt(&self) -> Option<&str> {
        self.named(Method::GetPrompt)
    }

    /// `mcp.resource.uri`
    pub(crate) fn uri(&self) -> Option<&str> {
        self.named(Method::ReadResource)
    }

    fn named(&self, which: Method) -> Option<&str> {
        (self.method == which).then_some(&*self.name)
    }
}
