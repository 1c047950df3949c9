use mcp_resilience::call::{Arguments, Flagged, Hints, Method, ToolCall, ToolResult};
use serde_json::{Map, Value};

/// A call with everything that a log line may want.
#[derive(Clone, Debug)]
pub(crate) struct Call {
    pub(crate) name: String,
    pub(crate) method: Method,
    pub(crate) arguments: Value,
    pub(crate) meta: Map<String, Value>,
    pub(crate) hints: Hints,
    pub(crate) request_id: Option<Value>,
    pub(crate) session_id: Option<String>,
}

impl Call {
    /// A tool that is known from its list: no hints, and no output schema.
    pub(crate) fn tool(name: &str) -> Self {
        Self {
            name: name.to_owned(),
            method: Method::CallTool,
            arguments: Value::Object(Map::new()),
            meta: Map::new(),
            hints: Hints::new().output_schema(false),
            request_id: None,
            session_id: None,
        }
    }

    /// A tool that may run twice.
    pub(crate) fn read_only(name: &str) -> Self {
        Self {
            hints: Hints::new().output_schema(false).read_only(true),
            ..Self::tool(name)
        }
    }

    pub(crate) fn resource(uri: &str) -> Self {
        Self {
            method: Method::ReadResource,
            ..Self::tool(uri)
        }
    }

    pub(crate) fn prompt(name: &str) -> Self {
        Self {
            method: Method::GetPrompt,
            ..Self::tool(name)
        }
    }

    pub(crate) fn arguments(mut self, arguments: Value) -> Self {
        self.arguments = arguments;
        self
    }
}

impl ToolCall for Call {
    fn name(&self) -> &str {
        &self.name
    }

    fn method(&self) -> Method {
        self.method
    }

    fn arguments(&self) -> Option<Arguments<'_>> {
        Some((&self.arguments).into())
    }

    fn meta(&self) -> Option<&Map<String, Value>> {
        Some(&self.meta)
    }

    fn hints(&self) -> Hints {
        self.hints
    }

    fn request_id(&self) -> Option<Value> {
        self.request_id.clone()
    }

    fn session_id(&self) -> Option<&str> {
        self.session_id.as_deref()
    }
}

/// An answer, compared field for field.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Answer {
    pub(crate) texts: Vec<String>,
    pub(crate) structured: Option<Value>,
    pub(crate) meta: Option<Map<String, Value>>,
    pub(crate) is_error: bool,
    pub(crate) is_interim: bool,
}

impl Answer {
    /// A success with a text.
    pub(crate) fn ok(text: &str) -> Self {
        Self {
            texts: vec![text.to_owned()],
            ..Self::default()
        }
    }

    /// A flagged result with a text alone.
    pub(crate) fn flagged(text: &str) -> Self {
        Self {
            is_error: true,
            ..Self::ok(text)
        }
    }

    /// A flagged result with an envelope alone.
    pub(crate) fn envelope(envelope: Value) -> Self {
        Self {
            structured: Some(envelope),
            is_error: true,
            ..Self::default()
        }
    }

    pub(crate) fn text(&self) -> &str {
        self.texts.first().map_or("", String::as_str)
    }
}

impl ToolResult for Answer {
    fn is_error(&self) -> bool {
        self.is_error
    }

    fn is_interim(&self) -> bool {
        self.is_interim
    }

    fn texts(&self) -> impl Iterator<Item = &str> {
        self.texts.iter().map(String::as_str)
    }

    fn structured(&self) -> Option<&Value> {
        self.structured.as_ref()
    }

    fn meta(&self) -> Option<&Map<String, Value>> {
        self.meta.as_ref()
    }

    fn flag(&mut self) {
        self.is_error = true;
    }

    fn from_failure(flagged: Flagged) -> Option<Self> {
        Some(Self {
            texts: vec![flagged.text],
            structured: flagged.structured,
            meta: flagged.meta,
            is_error: true,
            is_interim: false,
        })
    }
}
