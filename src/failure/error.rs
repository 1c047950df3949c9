use super::{Chain, Class, Code, RpcError, Stopped, evidence::Evidence, signals::Signals};
use crate::text::is_blank;
use std::{any::Any, borrow::Cow, error::Error, fmt, sync::Arc, time::Duration};

/// A failed call: an error, or a result with `isError: true`.
///
/// Its [`Display`](fmt::Display) is the message for people and models, without the source;
/// [`source`](Error::source) is what caused it, for the log alone.
///
/// ```
/// use mcp_resilience::{Class, Delivery, Failure};
/// use std::{error::Error, time::Duration};
///
/// let refused = std::io::Error::other("connection to 10.0.0.5:5432 refused");
/// let failure = Failure::unavailable(Some(Duration::from_secs(30)))
///     .with_message("the order database is down")
///     .because(refused) // for the log
///     .before_running(); // nothing ran, so any tool may be called again
///
/// assert_eq!(failure.class(), Class::Unavailable);
/// assert!(failure.delivery().did_not_run());
/// assert_eq!(failure.retry_after(), Some(Duration::from_secs(30)));
/// assert_eq!(failure.to_string(), "the order database is down"); // what a model may read
/// assert!(failure.source().is_some());
/// # let _ = Delivery::Unknown;
/// ```
pub struct Failure {
    // Boxed, so that a `Result` stays small.
    pub(super) inner: Box<Inner>,
}

pub(super) struct Inner {
    pub(super) class: Class,
    pub(super) evidence: Evidence,
    pub(super) code: Option<Code>,
    pub(super) message: Cow<'static, str>,
    pub(super) status: Option<u16>,
    pub(super) retry_after: Option<Duration>,
    pub(super) argument: Option<Cow<'static, str>>,
    pub(super) alternative: Option<Cow<'static, str>>,
    pub(super) attempts: u32,
    pub(super) waits: Vec<Duration>,
    pub(super) stopped: Option<Stopped>,
    pub(super) signals: Signals,
    pub(super) rpc_error: Option<RpcError>,
    pub(super) result: Option<Box<dyn Any + Send + Sync>>,
    pub(super) source: Option<Arc<dyn Error + Send + Sync>>,
}

impl Failure {
    /// The class of the failure.
    #[must_use]
    pub fn class(&self) -> Class {
        self.inner.class
    }

    /// Whether the failure counts against the health of the server, by [its
    /// class](Class::speaks_against_server). For a circuit breaker.
    #[must_use]
    pub fn speaks_against_server(&self) -> bool {
        self.class().speaks_against_server()
    }

    /// The server's own code, if it gave one.
    #[must_use]
    pub fn code(&self) -> Option<&Code> {
        self.inner.code.as_ref()
    }

    /// The message. `None` if it has no visible characters; `Display` then shows a phrase of the
    /// class.
    #[must_use]
    pub fn message(&self) -> Option<&str> {
        let message = self.inner.message.trim();
        (!is_blank(message)).then_some(message)
    }

    /// The HTTP status of the answer, if it is known.
    #[must_use]
    pub fn status(&self) -> Option<u16> {
        self.inner.status
    }

    /// How long the server asked to wait.
    #[must_use]
    pub fn retry_after(&self) -> Option<Duration> {
        self.inner.retry_after
    }

    /// The argument that is wrong.
    #[must_use]
    pub fn argument(&self) -> Option<&str> {
        self.inner.argument.as_deref()
    }

    /// The tool to use instead.
    #[must_use]
    pub fn alternative(&self) -> Option<&str> {
        self.inner.alternative.as_deref()
    }

    /// The number of attempts, at least 1.
    #[must_use]
    pub fn attempts(&self) -> u32 {
        self.inner.attempts
    }

    /// The waits between those attempts.
    #[must_use]
    pub fn waits(&self) -> &[Duration] {
        &self.inner.waits
    }

    /// Why there was no further attempt, although waiting might have helped.
    ///
    /// A failure with a reason is final: an outer [`retry`](crate::retry) does not repeat it.
    #[must_use]
    pub fn stopped(&self) -> Option<Stopped> {
        self.inner.stopped
    }

    /// The JSON-RPC error that the host gets, if there is one.
    #[must_use]
    pub fn rpc_error(&self) -> Option<&RpcError> {
        self.inner.rpc_error.as_ref()
    }

    /// Whether this is a flagged result that a tool returned.
    #[must_use]
    pub fn has_result(&self) -> bool {
        self.inner.result.is_some()
    }

    /// Takes out the tool's own flagged result, if there is one of this type.
    pub fn take_result<R: 'static>(&mut self) -> Option<R> {
        match self.inner.result.take()?.downcast() {
            Ok(result) => Some(*result),
            Err(other) => {
                self.inner.result = Some(other);
                None
            }
        }
    }

    /// Drops the tool's own result, and keeps the details that were read from it.
    pub(crate) fn forget_result(&mut self) {
        self.inner.result = None;
    }

    /// A copy of the failure for another caller, without the flagged result, which has one owner.
    pub(crate) fn duplicate(&self) -> Self {
        let inner = &self.inner;
        Self {
            inner: Box::new(Inner {
                class: inner.class,
                evidence: inner.evidence,
                code: inner.code.clone(),
                message: inner.message.clone(),
                status: inner.status,
                retry_after: inner.retry_after,
                argument: inner.argument.clone(),
                alternative: inner.alternative.clone(),
                attempts: inner.attempts,
                waits: inner.waits.clone(),
                stopped: inner.stopped,
                signals: inner.signals,
                rpc_error: inner.rpc_error.clone(),
                result: None,
                source: inner.source.clone(),
            }),
        }
    }

    /// The failure and its sources on one line, for a log or an event.
    ///
    /// Secrets are masked as in [`call_log`](crate::call_log), hidden characters are escaped
    /// (`\u{a}`), and the line is cut after 4 KiB. While a call is polled under a call log, the
    /// masked values of its arguments are masked here too, and the log's own
    /// [`redact`](crate::call_log::CallLogLayer::redact) is applied.
    #[must_use]
    pub fn chain(&self) -> impl fmt::Display {
        Chain(self)
    }

    /// The masked texts. For a writer that escapes and cuts them.
    pub(crate) fn redacted_chain(&self) -> String {
        Chain(self).redacted()
    }

    /// The cause, which all copies of this failure share.
    pub(crate) fn shared_source(&self) -> Option<Arc<dyn Error + Send + Sync>> {
        self.inner.source.clone()
    }

    pub(crate) fn set_rpc_error(&mut self, error: RpcError) {
        self.inner.rpc_error = Some(error);
    }

    pub(crate) fn set_attempts(&mut self, attempts: u32, waits: Vec<Duration>) {
        self.inner.attempts = attempts;
        self.inner.waits = waits;
    }

    pub(crate) fn set_stopped(&mut self, stopped: Stopped) {
        self.inner.stopped = Some(stopped);
    }

    pub(crate) fn set_retry_after(&mut self, wait: Duration) {
        self.inner.retry_after = Some(wait);
    }

    pub(crate) fn set_class(&mut self, class: Class) {
        self.inner.class = class;
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.message().unwrap_or_else(|| self.class().phrase()))
    }
}

impl Error for Failure {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        let source = self.inner.source.as_deref()?;
        Some(source as &(dyn Error + 'static))
    }
}

impl fmt::Debug for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let inner = &self.inner;
        let mut out = f.debug_struct("Failure");
        out.field("class", &inner.class)
            .field("delivery", &self.delivery())
            .field("message", &inner.message)
            .field("attempts", &inner.attempts);
        if let Some(code) = &inner.code {
            out.field("code", code);
        }
        if let Some(wait) = &inner.retry_after {
            out.field("retry_after", wait);
        }
        if let Some(retryable) = &self.retryable() {
            out.field("retryable", retryable);
        }
        if let Some(stopped) = &inner.stopped {
            out.field("stopped", stopped);
        }
        if let Some(source) = &inner.source {
            out.field("source", source);
        }
        out.finish_non_exhaustive()
    }
}
