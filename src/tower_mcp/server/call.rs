use super::{cancellation::Cancellation, unreadable};
use crate::{
    call::{
        self, Arguments, Hints, IdempotencyKey, InvalidKey, Method, Progress, Ticker, ToolCall,
    },
    failure::Failure,
    idempotency::IdempotencyHandle,
    serve::{
        Attempt, Unreadable,
        progress::{Report, Reported},
    },
    tower_mcp::{SessionId, model},
};
use ::tower_mcp::{
    McpRouter, RouterRequest, TraceContext,
    protocol::{McpRequest, RequestId},
};
use serde_json::{Map, Value};
use std::{
    fmt,
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering::Relaxed},
    },
};

/// A request on its way through the stack, with the router that has to answer it.
///
/// The router is that of the client's session: one stack serves all sessions. Copies are attempts at
/// the same call, and share all of it.
#[derive(Clone)]
pub struct ServerCall {
    request: Arc<RouterRequest>,
    hints: Hints,
    shared: Arc<Shared>,
    // Only if a run may outlive its request.
    keyed: Option<Arc<Keyed>>,
    refused: Option<Arc<Refused>>,
}

/// What is known of a call beside its request.
pub(super) struct Shared {
    // Those of a prompt, which tower-mcp does not hold as JSON.
    arguments: Option<Value>,
    meta: Option<Map<String, Value>>,
    attempts: AtomicU32,
    cancellation: Cancellation,
    progress: Progress,
    // `None` if the client gave no token, or if reports of the tool cannot be seen.
    report: Option<Arc<Report>>,
}

struct Refused {
    // As it was written.
    id: Value,
    problem: Unreadable,
}

struct Keyed {
    key: Option<Result<IdempotencyKey, InvalidKey>>,
    cancellation: call::Cancellation,
}

impl ServerCall {
    /// A call whose hints are not known yet.
    pub(super) fn new(
        mut request: RouterRequest,
        router: McpRouter,
        report: Option<&Arc<Report>>,
    ) -> Self {
        let trace = request.extensions.get::<TraceContext>();
        let meta = trace.map(|trace| {
            let traceparent = Value::from(trace.traceparent());
            Map::from_iter([("traceparent".to_owned(), traceparent)])
        });
        let shared = Shared {
            arguments: prompt_arguments(&request.inner),
            meta,
            attempts: AtomicU32::new(0),
            cancellation: Cancellation::of(&mut request, router),
            progress: report.map_or_else(Progress::new, |report| report.progress().clone()),
            report: report.cloned(),
        };
        Self {
            request: Arc::new(request),
            hints: Hints::new(),
            shared: Arc::new(shared),
            keyed: None,
            refused: None,
        }
    }

    /// A request that tower-mcp cannot read, to be refused.
    pub(super) fn unreadable(request: Value, problem: Unreadable) -> Self {
        let id = request.get("id").cloned().unwrap_or_default();
        let (request, arguments) = unreadable::read(request);
        // No router has seen it.
        let mut call = Self::new(request, McpRouter::new(), None);
        if let Some(shared) = Arc::get_mut(&mut call.shared) {
            shared.arguments = arguments;
        }
        call.refused = Some(Arc::new(Refused { id, problem }));
        call
    }

    /// The error in the request, if tower-mcp cannot read it. Such a call goes through the stack to
    /// leave its line, with its name and its arguments as far as they are of the right type. It does
    /// not reach the router.
    #[must_use]
    pub fn problem(&self) -> Option<&str> {
        Some(&self.refused.as_ref()?.problem.problem)
    }

    /// Why the router must not get the call.
    pub(super) fn refusal(&self) -> Option<Failure> {
        Some(self.refused.as_ref()?.problem.failure())
    }

    /// The same call, by what is known of its tool.
    pub(super) fn known(self, tool: Option<Hints>) -> Self {
        let hints = model::hints(&self.request.inner, tool);
        Self { hints, ..self }
    }

    /// The same call, which may outlive its request, with the key that came in its `_meta`.
    pub(super) fn remembered(
        mut self,
        keyed: &IdempotencyHandle,
        of_meta: Option<Result<IdempotencyKey, InvalidKey>>,
        cancellation: call::Cancellation,
    ) -> Self {
        let of_extensions = || self.request.extensions.get().cloned().map(Ok);
        let of_arguments = || IdempotencyKey::of_request(None, self.arguments());
        let key = of_meta
            .or_else(of_extensions)
            .or_else(of_arguments)
            .or_else(|| keyed.key_of_argument(&self));
        self.keyed = Some(Arc::new(Keyed { key, cancellation }));
        self
    }

    /// The request. If tower-mcp cannot read the id of a call with a [`problem`](Self::problem), the id
    /// here is an empty text.
    #[must_use]
    pub fn request(&self) -> &RouterRequest {
        &self.request
    }

    /// The router that has to answer. An empty router if the call has a [`problem`](Self::problem), since
    /// no session's router has seen it.
    #[must_use]
    pub fn router(&self) -> &McpRouter {
        self.shared.cancellation.router()
    }

    /// Counts one more attempt, and returns its number.
    pub(super) fn begin_attempt(&self) -> u32 {
        let before = self.shared.attempts.fetch_add(1, Relaxed);
        before.saturating_add(1)
    }

    /// Counts reports of progress for the new attempt.
    pub(super) fn begin_reports(&self, attempt: u32) -> (Ticker, Option<Reported>) {
        let ticker = self.shared.progress.ticker();
        let report = self.shared.report.as_ref();
        let reported = report.map(|report| report.begin(attempt, ticker.clone()));
        (ticker, reported)
    }

    pub(super) fn shared(&self) -> Arc<Shared> {
        Arc::clone(&self.shared)
    }

    /// The request for an attempt, with the extensions for a handler.
    pub(super) fn into_request(self, attempt: u32, ticker: Ticker) -> RouterRequest {
        let mut request = Arc::unwrap_or_clone(self.request);
        let extensions = &mut request.extensions;
        extensions.insert(Attempt::new(attempt));
        extensions.insert::<Ticker>(ticker);
        if let Some(Ok(key)) = self.keyed.as_deref().and_then(|keyed| keyed.key.as_ref()) {
            extensions.insert::<IdempotencyKey>(key.clone());
        }
        request
    }
}

impl Shared {
    pub(super) fn cancellation(&self) -> &Cancellation {
        &self.cancellation
    }
}

fn prompt_arguments(request: &McpRequest) -> Option<Value> {
    let McpRequest::GetPrompt(params) = request else {
        return None;
    };
    let arguments = params.arguments.iter();
    let arguments = arguments.map(|(name, value)| (name.clone(), Value::from(&**value)));
    Some(Value::Object(arguments.collect()))
}

impl ToolCall for ServerCall {
    fn name(&self) -> &str {
        match &self.request.inner {
            McpRequest::CallTool(params) => params.name(),
            McpRequest::ReadResource(params) => params.name(),
            McpRequest::GetPrompt(params) => params.name(),
            other => other.method_name(),
        }
    }

    fn method(&self) -> Method {
        match &self.request.inner {
            McpRequest::ReadResource(_) => Method::ReadResource,
            McpRequest::GetPrompt(_) => Method::GetPrompt,
            _ => Method::CallTool,
        }
    }

    fn arguments(&self) -> Option<Arguments<'_>> {
        match &self.request.inner {
            McpRequest::CallTool(params) => params.arguments(),
            _ => self.shared.arguments.as_ref().map(Arguments::from),
        }
    }

    /// Only the trace context: tower-mcp keeps no other foreign members.
    fn meta(&self) -> Option<&Map<String, Value>> {
        self.shared.meta.as_ref()
    }

    fn hints(&self) -> Hints {
        self.hints
    }

    fn request_id(&self) -> Option<Value> {
        if let Some(Refused { id, .. }) = self.refused.as_deref()
            && RequestId::from_json(id).is_none()
        {
            return id.is_number().then(|| id.clone());
        }
        match &self.request.id {
            RequestId::Number(number) => Some(Value::from(*number)),
            RequestId::String(text) => Some(Value::from(&**text)),
            _ => None,
        }
    }

    /// A [`SessionId`] in the extensions, which an HTTP server may bridge there.
    fn session_id(&self) -> Option<&str> {
        let id = self.request.extensions.get::<SessionId>()?;
        Some(id.as_str())
    }

    fn progress(&self) -> Option<&Progress> {
        Some(&self.shared.progress)
    }

    /// The key in `_meta`, over stdio; else one in the extensions, from an HTTP server; else that in
    /// the argument that is named for the tool.
    fn idempotency_key(&self) -> Option<Result<IdempotencyKey, InvalidKey>> {
        self.keyed.as_ref()?.key.clone()
    }

    fn continuation(&self) -> Option<Value> {
        match &self.request.inner {
            McpRequest::CallTool(params) => params.continuation(),
            _ => None,
        }
    }

    fn request_state_mut(&mut self) -> Option<&mut Option<String>> {
        match &mut Arc::make_mut(&mut self.request).inner {
            McpRequest::CallTool(params) => params.request_state_mut(),
            _ => None,
        }
    }

    fn cancellation(&self) -> Option<&call::Cancellation> {
        Some(&self.keyed.as_ref()?.cancellation)
    }
}

impl fmt::Debug for ServerCall {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ServerCall")
            .field("method", &self.method())
            .field("hints", &self.hints)
            .finish_non_exhaustive()
    }
}
