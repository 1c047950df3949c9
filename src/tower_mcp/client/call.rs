use super::Request;
use crate::call::{Arguments, Hints, Method, Progress, ToolCall};

/// A request to be sent to a server, with the hints of its tool.
#[derive(Clone, Debug)]
pub struct ClientCall {
    request: Request,
    hints: Hints,
    progress: Progress,
}

impl ClientCall {
    /// A request, and the hints of its tool. Reading may happen twice, whatever they say; a call that
    /// continues another may not.
    #[must_use]
    pub fn new(request: impl Into<Request>, hints: Hints) -> Self {
        let request = request.into();
        let hints = match request {
            _ if request.is_continuation() => Hints::new().with_schema_of(hints),
            Request::Tool(_) => hints,
            Request::Resource(_) | Request::Prompt(_) => Hints::new().read_only(true),
        };
        Self {
            request,
            hints,
            progress: Progress::new(),
        }
    }

    /// The request itself.
    #[must_use]
    pub fn request(&self) -> &Request {
        &self.request
    }
}

impl ToolCall for ClientCall {
    fn name(&self) -> &str {
        self.request.name()
    }

    fn method(&self) -> Method {
        self.request.method()
    }

    fn arguments(&self) -> Option<Arguments<'_>> {
        self.request.arguments()
    }

    fn hints(&self) -> Hints {
        self.hints
    }

    fn progress(&self) -> Option<&Progress> {
        Some(&self.progress)
    }
}
