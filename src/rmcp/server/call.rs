use super::{
    progress::{Report, Reported},
    unreadable::Unreadable,
    wire::CameAs,
};
use crate::{
    call::{Arguments, Hints, Method, Progress, Ticker, ToolCall},
    failure::Failure,
    rmcp::{Request, model, request},
};
use ::rmcp::{RoleServer, model::JsonObject, service::RequestContext};
use serde_json::Value;
use std::sync::{
    Arc,
    atomic::{AtomicU32, Ordering::Relaxed},
};

/// A request that a client made of a handler, with its context.
#[derive(Clone, Debug)]
pub struct ServerCall {
    request: Request,
    context: RequestContext<RoleServer>,
    hints: Hints,
    unreadable: Option<Arc<Unreadable>>,
    // Shared by the copies, which are attempts at the same call.
    attempts: Arc<AtomicU32>,
    progress: Progress,
    // None if the client gave no token, or if nothing can be seen of what the tool sends.
    report: Option<Arc<Report>>,
}

impl ServerCall {
    pub(super) fn new(
        request: Request,
        hints: Option<Hints>,
        context: RequestContext<RoleServer>,
    ) -> Self {
        Self {
            hints: request::hints(&request, hints),
            request,
            context,
            unreadable: None,
            attempts: Arc::default(),
            progress: Progress::new(),
            report: None,
        }
    }

    /// The same call, with what its client is told of its progress.
    pub(super) fn reported(self, report: Option<Arc<Report>>) -> Self {
        let progress = match &report {
            Some(report) => report.progress().clone(),
            None => self.progress,
        };
        Self {
            progress,
            report,
            ..self
        }
    }

    /// Lets reports of progress count for the attempt that begins.
    pub(super) fn begin_reports(&self, attempt: u32) -> (Ticker, Option<Reported>) {
        let ticker = self.progress.ticker();
        let report = self.report.as_ref();
        let reported = report.map(|report| report.begin(attempt, ticker.clone()));
        (ticker, reported)
    }

    /// The same call, which is to be refused.
    pub(super) fn unreadable(self, unreadable: Unreadable) -> Self {
        Self {
            unreadable: Some(Arc::new(unreadable)),
            ..self
        }
    }

    /// What the client asks for.
    #[must_use]
    pub fn request(&self) -> &Request {
        &self.request
    }

    /// The context in which it asks.
    #[must_use]
    pub fn context(&self) -> &RequestContext<RoleServer> {
        &self.context
    }

    /// What is wrong with the parameters, if they cannot be read. Such a call goes down the stack to
    /// leave its line, with its name and nothing else in its [`request`](Self::request), and never
    /// reaches the handler.
    #[must_use]
    pub fn problem(&self) -> Option<&str> {
        let unreadable = self.unreadable.as_ref()?;
        Some(&unreadable.problem)
    }

    /// Why the handler is not to see the call.
    pub(super) fn refusal(&self) -> Option<Failure> {
        let unreadable = self.unreadable.as_ref()?;
        Some(unreadable.failure())
    }

    /// Counts one more attempt, and gives its number.
    pub(super) fn begin_attempt(&self) -> u32 {
        self.attempts.fetch_add(1, Relaxed).saturating_add(1)
    }

    pub(super) fn into_parts(self) -> (Request, RequestContext<RoleServer>) {
        (self.request, self.context)
    }
}

impl ToolCall for ServerCall {
    fn name(&self) -> &str {
        self.request.name()
    }

    fn method(&self) -> Method {
        self.request.method()
    }

    fn arguments(&self) -> Option<Arguments<'_>> {
        match &self.unreadable {
            Some(unreadable) => unreadable.arguments.as_ref().map(Arguments::from),
            None => self.request.arguments(),
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
        match self.context.extensions.get::<CameAs>() {
            Some(written) => Some(written.to_value()),
            None => Some(self.context.id.clone().into_json_value()),
        }
    }

    fn progress(&self) -> Option<&Progress> {
        Some(&self.progress)
    }

    /// The header of the HTTP request that carried it, if HTTP did.
    fn session_id(&self) -> Option<&str> {
        let parts = self.context.extensions.get::<::http::request::Parts>()?;
        parts.headers.get("mcp-session-id")?.to_str().ok()
    }
}
