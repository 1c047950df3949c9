use super::Request;
use crate::call::{Arguments, Continues, Hints, Method, Progress, ToolCall};
use std::fmt;

/// A request to be sent to a server, with the hints of its tool.
#[derive(Clone)]
pub struct ClientCall {
    request: Request,
    hints: Hints,
    progress: Progress,
}

impl ClientCall {
    /// A request, and the hints of its tool. Reading may happen twice with any hints. A call that
    /// continues another may not.
    #[must_use]
    pub fn new(request: impl Into<Request>, hints: Hints) -> Self {
        let request = request.into();
        let hints = request.hints_of(Some(hints));
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

/// Without arguments and `_meta`, which may hold secrets.
impl fmt::Debug for ClientCall {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ClientCall")
            .field("method", &self.method())
            .field("name", &self.name())
            .field("hints", &self.hints)
            .finish_non_exhaustive()
    }
}
