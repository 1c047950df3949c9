use crate::{
    call::{Arguments, Hints, Method, ToolCall},
    rmcp::Request,
};
use ::rmcp::model::JsonObject;

/// A request to be sent to a server, with what is known of its tool.
///
/// Made by [`Catalog::call`](super::Catalog::call), which knows the tool; [`new`](Self::new) is for
/// who knows it better.
#[derive(Clone, Debug)]
pub struct ClientCall {
    request: Request,
    hints: Hints,
}

impl ClientCall {
    /// A request, and the hints of its tool.
    #[must_use]
    pub fn new(request: impl Into<Request>, hints: Hints) -> Self {
        Self {
            request: request.into(),
            hints,
        }
    }

    /// What is asked for.
    #[must_use]
    pub fn request(&self) -> &Request {
        &self.request
    }

    pub(super) fn into_request(self) -> Request {
        self.request
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

    fn meta(&self) -> Option<&JsonObject> {
        self.request.meta()
    }

    fn hints(&self) -> Hints {
        self.hints
    }
}
