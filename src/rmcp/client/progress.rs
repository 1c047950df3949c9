use crate::{call::Ticker, lock::Mutex, telemetry};
use ::rmcp::{
    RoleClient,
    model::{
        ClientRequest, GetMeta, JsonRpcMessage, NumberOrString, ProgressNotificationParam,
        ProgressToken, RequestParamsMeta, ServerNotification,
    },
    service::{RxJsonRpcMessage, TxJsonRpcMessage},
};
use std::{
    collections::HashMap,
    fmt,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicI64, Ordering::Relaxed},
    },
    time::Duration,
};
use tracing::Span;

/// Where the tokens of attempts begin: rmcp's own count from 0. Old servers read tokens as 32 bits.
const FIRST: i64 = 1 << 30;

/// The running attempts on one connection, by the token that each sends.
///
/// rmcp replaces the token that a caller set, and reveals its own only later: a report may come
/// before. So each attempt gets a token here, which replaces rmcp's when the request is sent.
#[derive(Clone, Debug, Default)]
pub(super) struct Incoming(Arc<Shared>);

#[derive(Debug, Default)]
struct Shared {
    attempts: Mutex<HashMap<i64, Listener>>,
    begun: AtomicI64,
}

/// How the reports of one attempt are passed on.
#[derive(Debug)]
struct Listener {
    ticker: Ticker,
    // The caller's.
    token: Option<ProgressToken>,
    level: Level,
    // That of the attempt.
    span: Span,
    // What a header beside its answer asked for.
    wait: Option<Duration>,
}

/// Gets the reports of one call. Must not block.
pub(super) type Sink = Arc<dyn Fn(&ProgressNotificationParam) + Send + Sync>;

/// The highest value that a caller got, over all attempts at its call, and the function that gets it.
#[derive(Clone, Default)]
pub(super) struct Level(Arc<Told>);

#[derive(Default)]
struct Told {
    highest: Mutex<Option<f64>>,
    sink: Option<Sink>,
    has_begun: AtomicBool,
    may_have_run: AtomicBool,
    may_have_run_elsewhere: AtomicBool,
}

/// An attempt gets reports until this is dropped.
pub(super) struct Listening {
    incoming: Incoming,
    number: i64,
}

impl Incoming {
    /// Listens to the reports of an attempt. `exchange` sets its token, and returns the caller's.
    pub(super) fn listen(
        &self,
        ticker: Ticker,
        level: Level,
        exchange: impl FnOnce(ProgressToken) -> Option<ProgressToken>,
    ) -> Listening {
        let number = FIRST.saturating_add(self.0.begun.fetch_add(1, Relaxed));
        let listener = Listener {
            ticker,
            token: exchange(ProgressToken(NumberOrString::Number(number))),
            level,
            span: Span::current(),
            wait: None,
        };
        self.0.attempts.lock().insert(number, listener);
        Listening {
            incoming: self.clone(),
            number,
        }
    }

    /// Restores the attempt's token in its request, which rmcp replaced.
    pub(super) fn leave(&self, message: &mut TxJsonRpcMessage<RoleClient>) {
        let JsonRpcMessage::Request(message) = message else {
            return;
        };
        let Some(token) = token_of(&message.request) else {
            return;
        };
        let attempts = self.0.attempts.lock();
        if let Some(listener) = number(&token).and_then(|number| attempts.get(&number)) {
            telemetry::has_request_id(&listener.span, &message.id);
            message.request.get_meta_mut().set_progress_token(token);
        }
    }

    /// Notes how long the server asked to wait, beside its answer to the request of an attempt.
    #[cfg(feature = "rmcp-client-http")]
    pub(super) fn asked_to_wait(&self, request: &ClientRequest, wait: Duration) {
        let number = token_of(request).as_ref().and_then(number);
        let mut attempts = self.0.attempts.lock();
        if let Some(listener) = number.and_then(|number| attempts.get_mut(&number)) {
            listener.wait = Some(wait);
        }
    }

    /// Ticks the attempt that a report is about, and sets the caller's token. Returns whether the
    /// handler gets the message: reports of a finished attempt are dropped.
    pub(super) fn arrive(&self, message: &mut RxJsonRpcMessage<RoleClient>) -> bool {
        let JsonRpcMessage::Notification(message) = message else {
            return true;
        };
        let ServerNotification::ProgressNotification(progress) = &mut message.notification else {
            return true;
        };
        let params = &mut progress.params;
        let Some(number) = number(&params.progress_token) else {
            return true;
        };
        let level = {
            let attempts = self.0.attempts.lock();
            let Some(listener) = attempts.get(&number) else {
                return number >= FIRST.saturating_add(self.0.begun.load(Relaxed));
            };
            listener.ticker.tick();
            params.progress = listener.level.raise(params.progress);
            if let Some(token) = &listener.token {
                params.progress_token = token.clone();
            }
            listener.level.clone()
        };
        level.tell(params);
        true
    }
}

/// The token that was put into a request.
fn token_of(request: &ClientRequest) -> Option<ProgressToken> {
    match request {
        ClientRequest::CallToolRequest(request) => request.params.progress_token(),
        ClientRequest::ReadResourceRequest(request) => request.params.progress_token(),
        ClientRequest::GetPromptRequest(request) => request.params.progress_token(),
        _ => None,
    }
}

/// The number of a token that may be one of ours. Some servers return a number as a string.
fn number(token: &ProgressToken) -> Option<i64> {
    let number = match &token.0 {
        NumberOrString::Number(number) => *number,
        NumberOrString::String(text) => text.parse().ok()?,
    };
    (number >= FIRST).then_some(number)
}

impl Listening {
    /// What a header beside the answer asked for.
    pub(super) fn wait(&self) -> Option<Duration> {
        let attempts = self.incoming.0.attempts.lock();
        attempts.get(&self.number)?.wait
    }
}

impl Level {
    pub(super) fn new(sink: Option<Sink>) -> Self {
        Self(Arc::new(Told {
            sink,
            ..Told::default()
        }))
    }

    /// Notes an attempt. Returns whether it is a repeat.
    pub(super) fn begin(&self) -> bool {
        self.0.has_begun.swap(true, Relaxed)
    }

    /// Whether an attempt may have run the tool.
    pub(super) fn may_have_run(&self) -> bool {
        self.0.may_have_run.load(Relaxed)
    }

    /// Whether an attempt may have run it on a server that does not recognize the key of the call. Then
    /// no other server recognizes that run.
    pub(super) fn may_have_run_elsewhere(&self) -> bool {
        self.0.may_have_run_elsewhere.load(Relaxed)
    }

    /// Notes that an attempt may run it, and whether on such a server. Returns whether an earlier attempt
    /// may have run it.
    pub(super) fn sent(&self, is_elsewhere: bool) -> bool {
        if is_elsewhere {
            self.0.may_have_run_elsewhere.store(true, Relaxed);
        }
        self.0.may_have_run.swap(true, Relaxed)
    }

    /// Notes that no attempt has run it.
    pub(super) fn did_not_run(&self) {
        self.0.may_have_run_elsewhere.store(false, Relaxed);
        self.0.may_have_run.store(false, Relaxed);
    }

    fn tell(&self, report: &ProgressNotificationParam) {
        if let Some(sink) = &self.0.sink
            && catch_unwind(AssertUnwindSafe(|| sink(report))).is_err()
        {
            tracing::warn!("the function that gets the progress of a call panicked");
        }
    }

    fn raise(&self, value: f64) -> f64 {
        let mut level = self.0.highest.lock();
        // Of a number and a NaN, `max` returns the number.
        let raised = level.map_or(value, |level| level.max(value));
        *level = Some(raised);
        raised
    }
}

impl Drop for Listening {
    fn drop(&mut self) {
        self.incoming.0.attempts.lock().remove(&self.number);
    }
}

impl fmt::Debug for Level {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Level").field(&self.0.highest).finish()
    }
}
