use super::{
    Catalog,
    abandoned::KeyedCall,
    progress::{Incoming, Level, Listening, Sink},
};
#[cfg(feature = "otel")]
use crate::telemetry;
use crate::{
    call::{
        Arguments, CallOptions, HintSource, Hints, IdempotencyKey, KEY_META, Method, Progress,
        Route, Side, ToolCall,
    },
    failure::{Class, Failure, Stopped},
    rmcp::{Answer, Request, capability::Honoured},
};
use ::rmcp::model::{JsonObject, ProgressToken};
use serde_json::Value;
use std::{fmt, sync::Arc};

/// A request to a server, with the hints of its tool.
///
/// [`Catalog::call`] uses the hints of the server's list; [`new`](Self::new) takes your own.
#[derive(Clone)]
pub struct ClientCall {
    request: Request,
    hints: Hints,
    // The source of the hints, and their version.
    source: Option<(Catalog, u64)>,
    progress: Progress,
    // Shared by the copies, which are attempts at the same call.
    level: Level,
    options: Option<Arc<CallOptions>>,
    // Only if the server runs the call once even if it is sent several times.
    keyed: Option<KeyedCall>,
    // The capability of the server that recognizes the key. `None` if all servers do, or without a key.
    honoured: Option<Honoured>,
}

impl ClientCall {
    /// A request, and the hints of its tool.
    #[must_use]
    pub fn new(request: impl Into<Request>, hints: Hints) -> Self {
        Self {
            request: request.into(),
            hints,
            source: None,
            progress: Progress::new(),
            level: Level::default(),
            options: None,
            keyed: None,
            honoured: None,
        }
    }

    /// The request itself.
    #[must_use]
    pub fn request(&self) -> &Request {
        &self.request
    }

    /// Settings of this call alone. They have precedence over those of its tool and of the layers.
    #[must_use]
    pub fn with_options(mut self, options: CallOptions) -> Self {
        self.options = (options != CallOptions::new()).then(|| Arc::new(options));
        self
    }

    /// Passes the reports of progress to a function too.
    pub(super) fn telling(mut self, sink: Option<Sink>) -> Self {
        self.level = Level::new(sink);
        self
    }

    /// Begins an attempt on a connection to a server with this capability.
    ///
    /// # Errors
    ///
    /// If it repeats a call whose tool is listed differently since, or a call that may have run on a server
    /// that does not share its keys with this one.
    pub(super) fn begin(&self, honoured: Option<&Honoured>) -> Result<(), Failure> {
        if !self.level.begin() {
            return Ok(());
        }
        let may_run_twice = self.level.may_have_run_elsewhere()
            || (self.level.may_have_run() && self.is_unknown(honoured));
        if may_run_twice {
            let message = "the call may have run, and the server that answers now may not recognize its key, \
                           so the call was not made again";
            let mut failure = Failure::unavailable(None).with_message(message).not_sent();
            // It would not work on the next connection either.
            failure.set_stopped(Stopped::MayHaveRun);
            return Err(failure);
        }
        match (&self.source, &self.request) {
            (Some((catalog, version)), Request::Tool(params))
                if catalog.has_changed(&params.name, *version) =>
            {
                let message = "the server lists the tool in another way than when the call began, so the \
                               call was not made again: look at the tool first";
                Err(Failure::new(Class::InvalidInput, message).not_sent())
            }
            _ => Ok(()),
        }
    }

    /// Whether a server with this capability does not recognize the key of the call.
    fn is_unknown(&self, honoured: Option<&Honoured>) -> bool {
        self.honoured.is_some() && self.honoured.as_ref() != honoured
    }

    /// Listens to the reports of the new attempt, under a token of its own.
    pub(super) fn listen(&mut self, incoming: &Incoming) -> Listening {
        let (ticker, level) = (self.progress.ticker(), self.level.clone());
        incoming.listen(ticker, level, |token| self.exchange_token(token))
    }

    /// Sets a progress token, and returns the caller's.
    fn exchange_token(&mut self, token: ProgressToken) -> Option<ProgressToken> {
        let meta = self.request.meta_mut().get_or_insert_default();
        let before = meta.get_progress_token();
        meta.set_progress_token(token);
        before
    }

    /// Writes the context of the current span into the request.
    #[cfg(feature = "otel")]
    pub(super) fn inject_context(&mut self) {
        let meta = self.request.meta_mut();
        let mut injected = meta.take().unwrap_or_default();
        telemetry::inject(&mut injected.0.0);
        *meta = Some(injected).filter(|meta| !meta.0.0.is_empty());
    }

    /// The call is sent to a server with this capability: until its failure says otherwise, it may have
    /// run there.
    pub(super) fn sent(&self, honoured: Option<&Honoured>) -> Sent {
        let may_have_run = self.level.sent(self.is_unknown(honoured));
        Sent {
            level: (!may_have_run).then(|| self.level.clone()),
        }
    }

    pub(super) fn into_request(self) -> Request {
        self.request
    }

    /// The capability of its server, if that honours keys.
    pub(super) fn honoured(&self) -> Option<Honoured> {
        let (catalog, _) = self.source.as_ref()?;
        catalog.honoured()
    }

    pub(super) fn set_key(&mut self, key: &IdempotencyKey) {
        let meta = self.request.meta_mut().get_or_insert_default();
        meta.0.0.insert(KEY_META.to_owned(), key.as_str().into());
    }

    /// From here on, the call runs once even if it is sent several times, to servers with this
    /// capability. `None` for all servers.
    pub(super) fn set_keyed(&mut self, keyed: KeyedCall, honoured: Option<Honoured>) {
        self.keyed = Some(keyed);
        self.honoured = honoured;
    }

    pub(super) fn keyed(&self) -> Option<&KeyedCall> {
        self.keyed.as_ref()
    }
}

impl Catalog {
    /// A call of a tool, a resource or a prompt, with the hints of its tool.
    ///
    /// If the hints change while the call runs, it is repeated only if the old and the new ones
    /// permit it.
    #[must_use]
    pub fn call(&self, request: impl Into<Request>) -> ClientCall {
        let request = request.into();
        // The version first: then a later change is noticed.
        let version = self.version();
        let hints = self.hints_of(&request);
        ClientCall {
            source: Some((self.clone(), version)),
            ..ClientCall::new(request, hints)
        }
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

    fn continuation(&self) -> Option<Value> {
        self.request.continuation()
    }

    fn request_state_mut(&mut self) -> Option<&mut Option<String>> {
        self.request.request_state_mut()
    }

    fn options(&self) -> Option<&CallOptions> {
        self.options.as_deref()
    }

    /// That of the last connection.
    fn route(&self) -> Route {
        match &self.source {
            Some((catalog, _)) => catalog.route(),
            None => Route::new(Side::Client),
        }
    }

    fn is_listed(&self) -> Option<bool> {
        let (Some((catalog, _)), Request::Tool(params)) = (&self.source, &self.request) else {
            return None;
        };
        catalog.lists(&params.name)
    }

    fn runs_once(&self) -> bool {
        self.keyed.is_some()
    }

    /// Reports of the server count here, for any token of the caller.
    fn progress(&self) -> Option<&Progress> {
        Some(&self.progress)
    }

    /// The hints at the start of the call, as far as they still hold.
    fn hints(&self) -> Hints {
        match &self.source {
            Some((catalog, version)) if catalog.version() != *version => match &self.request {
                Request::Tool(params) => still(self.hints, catalog, *version, &params.name),
                // Reading may always happen twice.
                Request::Resource(_) | Request::Prompt(_) => self.hints,
            },
            _ => self.hints,
        }
    }

    fn hint_source(&self) -> Option<HintSource> {
        let (catalog, version) = self.source.clone()?;
        let Request::Tool(params) = &self.request else {
            return None;
        };
        let (hints, tool) = (self.hints, params.name.clone());
        Some(HintSource::new(move || {
            if catalog.version() == version {
                return hints;
            }
            still(hints, &catalog, version, &tool)
        }))
    }
}

/// An attempt at a call on its way to the server.
pub(super) struct Sent {
    // Set if no earlier attempt may have run.
    level: Option<Level>,
}

impl Sent {
    pub(super) fn answered(self, answer: &Result<Answer, Failure>) {
        let did_not_run = |failure: &Failure| failure.delivery().did_not_run();
        if let (Some(level), true) = (self.level, answer.as_ref().is_err_and(did_not_run)) {
            level.did_not_run();
        }
    }
}

/// The hints at the start of the call, as far as they still hold. A tool that is listed differently
/// is another tool.
fn still(then: Hints, catalog: &Catalog, version: u64, tool: &str) -> Hints {
    let now = catalog.hints(tool).unwrap_or_default();
    let is_same = !catalog.has_changed(tool, version);
    Hints::new()
        .read_only(is_same && then.is_read_only() && now.is_read_only())
        .idempotent(is_same && then.is_idempotent() && now.is_idempotent())
        .with_schema_of(then)
        .with_schema_of(now)
}

/// Without arguments and `_meta`, which may hold secrets.
impl fmt::Debug for ClientCall {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ClientCall")
            .field("method", &self.method())
            .field("name", &self.name())
            .field("hints", &self.hints)
            .field("options", &self.options)
            .finish_non_exhaustive()
    }
}
