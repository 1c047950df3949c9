use super::wire::CameAs;
use crate::{
    call::{
        Arguments, Cancellation, Continues, Hints, IdempotencyKey, InvalidKey, Method, Progress,
        Route, Side, Ticker, ToolCall, Transport,
    },
    failure::Failure,
    idempotency::IdempotencyHandle,
    rmcp::{Request, model},
    serve::{
        Unreadable,
        progress::{Report, Reported},
    },
};
use ::rmcp::{RoleServer, model::JsonObject, service::RequestContext};
use serde_json::Value;
use std::{
    borrow::Cow,
    fmt,
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering::Relaxed},
    },
};

/// A client's request to a handler, with its context.
#[derive(Clone)]
pub struct ServerCall {
    request: Request,
    context: RequestContext<RoleServer>,
    hints: Hints,
    is_listed: bool,
    unreadable: Option<Arc<(Unreadable, Option<Value>)>>,
    // Shared by the copies, which are attempts at the same call.
    attempts: Arc<AtomicU32>,
    progress: Progress,
    // `None` if the client gave no token, or if reports of the tool cannot be seen.
    report: Option<Arc<Report>>,
    identity: Option<Arc<Identity>>,
    // Only if a run may outlive its request.
    cancellation: Option<Cancellation>,
    // The key in the argument that is named for the tool.
    key: Option<Result<IdempotencyKey, InvalidKey>>,
}

/// The user's function for the identity of a caller.
pub(super) type Identity = dyn Fn(&ServerCall) -> Option<Vec<u8>> + Send + Sync;

impl ServerCall {
    pub(super) fn new(
        request: Request,
        hints: Option<Hints>,
        context: RequestContext<RoleServer>,
    ) -> Self {
        Self {
            is_listed: hints.is_some(),
            hints: request.hints_of(hints),
            request,
            context,
            unreadable: None,
            attempts: Arc::default(),
            progress: Progress::new(),
            report: None,
            identity: None,
            cancellation: None,
            key: None,
        }
    }

    /// The same call with this identity, which may outlive its request.
    pub(super) fn remembered(
        self,
        keyed: &IdempotencyHandle,
        identity: Option<Arc<Identity>>,
        cancellation: Cancellation,
    ) -> Self {
        Self {
            key: keyed.key_of_argument(&self),
            identity,
            cancellation: Some(cancellation),
            ..self
        }
    }

    fn header(&self, name: &str) -> Option<&::http::HeaderValue> {
        let parts = self.context.extensions.get::<::http::request::Parts>()?;
        parts.headers.get(name)
    }

    /// The same call with the progress of its client.
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

    /// Counts reports of progress for the new attempt.
    pub(super) fn begin_reports(&self, attempt: u32) -> (Ticker, Option<Reported>) {
        let ticker = self.progress.ticker();
        let report = self.report.as_ref();
        let reported = report.map(|report| report.begin(attempt, ticker.clone()));
        (ticker, reported)
    }

    /// The same call, to be refused.
    pub(super) fn unreadable(self, arguments: Option<Value>, unreadable: Unreadable) -> Self {
        Self {
            unreadable: Some(Arc::new((unreadable, arguments))),
            ..self
        }
    }

    /// The request.
    #[must_use]
    pub fn request(&self) -> &Request {
        &self.request
    }

    /// The context of the request.
    #[must_use]
    pub fn context(&self) -> &RequestContext<RoleServer> {
        &self.context
    }

    /// The error in the parameters, if they cannot be read. Such a call goes through the stack to
    /// leave its line, with only its name in its [`request`](Self::request). It does not reach the
    /// handler.
    #[must_use]
    pub fn problem(&self) -> Option<&str> {
        let (unreadable, _) = self.unreadable.as_deref()?;
        Some(&unreadable.problem)
    }

    /// Why the handler must not get the call.
    pub(super) fn refusal(&self) -> Option<Failure> {
        let (unreadable, _) = self.unreadable.as_deref()?;
        Some(unreadable.failure())
    }

    /// Counts one more attempt, and returns its number.
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
        match self.unreadable.as_deref() {
            Some((_, arguments)) => arguments.as_ref().map(Arguments::from),
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

    /// A request without HTTP came through a pipe.
    fn route(&self) -> Route {
        let parts = self.context.extensions.get::<::http::request::Parts>();
        let route = Route::new(Side::Server).with_transport(match parts {
            Some(_) => Transport::Tcp,
            None => Transport::Pipe,
        });
        match self.context.protocol_version() {
            Some(version) => route.with_protocol_version(version.to_string()),
            None => route,
        }
    }

    /// By the lists of the handler, which have only tools.
    fn is_listed(&self) -> Option<bool> {
        matches!(self.request, Request::Tool(_)).then_some(self.is_listed)
    }

    fn progress(&self) -> Option<&Progress> {
        Some(&self.progress)
    }

    /// A header of the HTTP request, if there is one.
    fn session_id(&self) -> Option<&str> {
        self.header("mcp-session-id")?.to_str().ok()
    }

    /// That of the request, else the header `Idempotency-Key` of the HTTP request, else the argument
    /// that is named for the tool.
    fn idempotency_key(&self) -> Option<Result<IdempotencyKey, InvalidKey>> {
        let of_request = IdempotencyKey::of_request(self.meta(), self.arguments());
        let of_header = || {
            let header = self.header("idempotency-key")?;
            Some(IdempotencyKey::of_header(header.as_bytes()))
        };
        of_request.or_else(of_header).or_else(|| self.key.clone())
    }

    /// The header `Authorization` of the HTTP request, or the result of
    /// [`Resilient::identity`](super::Resilient::identity).
    fn identity(&self) -> Option<Cow<'_, [u8]>> {
        match &self.identity {
            Some(identity) => identity(self).map(Cow::Owned),
            None => self
                .header("authorization")
                .map(|header| header.as_bytes().into()),
        }
    }

    fn continuation(&self) -> Option<Value> {
        self.request.continuation()
    }

    fn request_state_mut(&mut self) -> Option<&mut Option<String>> {
        self.request.request_state_mut()
    }

    fn cancellation(&self) -> Option<&Cancellation> {
        self.cancellation.as_ref()
    }
}

/// Without arguments, `_meta` and headers, which may hold secrets.
impl fmt::Debug for ServerCall {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ServerCall")
            .field("method", &self.method())
            .field("name", &self.name())
            .field("id", &self.context.id)
            .field("hints", &self.hints)
            .finish_non_exhaustive()
    }
}
