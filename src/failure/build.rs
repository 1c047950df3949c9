//! Constructors and setters of a failure.

use super::{Class, Code, Failure, RpcError, error::Inner, evidence::Evidence, signals::Signals};
use serde_json::Value;
use std::{any::Any, borrow::Cow, error::Error, sync::Arc, time::Duration};

/// Constructors, one for each kind of failure.
impl Failure {
    /// A failure of any class. Its [`Delivery`](super::Delivery) is that of the class: `Executed` if
    /// the class says that the tool ran, else `Unknown`.
    ///
    /// If the tool did nothing yet, call [`before_running`](Self::before_running).
    ///
    /// If the message is blank, a phrase of the class is shown in its place.
    #[must_use]
    pub fn new(class: Class, message: impl Into<Cow<'static, str>>) -> Self {
        Self {
            inner: Box::new(Inner {
                class,
                evidence: Evidence::of(class),
                code: None,
                message: message.into(),
                status: None,
                retry_after: None,
                argument: None,
                alternative: None,
                attempts: 1,
                waits: Vec::new(),
                stopped: None,
                signals: Signals::default(),
                rpc_error: None,
                result: None,
                source: None,
            }),
        }
    }

    /// The tool could not do what it was asked, and the model should read why.
    #[must_use]
    pub fn tool(message: impl Into<Cow<'static, str>>) -> Self {
        Self::new(Class::Tool, message)
    }

    /// An argument is wrong. Takes its name, and a text that says what was expected.
    #[must_use]
    pub fn invalid_input(argument: impl Into<Cow<'static, str>>, problem: &str) -> Self {
        let argument = argument.into();
        let mut failure = Self::new(
            Class::InvalidInput,
            format!("argument `{argument}`: {problem}"),
        );
        failure.inner.argument = Some(argument);
        failure
    }

    /// There is no such item. For a resource, the host gets `-32602` with the URI.
    #[must_use]
    pub fn not_found(message: impl Into<Cow<'static, str>>) -> Self {
        Self::new(Class::NotFound, message)
    }

    /// The address is not allowed.
    #[must_use]
    pub fn blocked(message: impl Into<Cow<'static, str>>) -> Self {
        Self::new(Class::Blocked, message)
    }

    /// The credentials are missing or wrong.
    #[must_use]
    pub fn unauthorized(message: impl Into<Cow<'static, str>>) -> Self {
        Self::new(Class::Unauthorized, message)
    }

    /// The server refuses this call. Use [`instead`](Self::instead) to name another tool.
    #[must_use]
    pub fn forbidden(message: impl Into<Cow<'static, str>>) -> Self {
        Self::new(Class::Forbidden, message)
    }

    /// The service is turned off for this account.
    #[must_use]
    pub fn disabled(message: impl Into<Cow<'static, str>>) -> Self {
        Self::new(Class::Disabled, message)
    }

    /// Too many calls, and how long to wait. Repeated only for a tool that may run
    /// twice, unless it failed [`before_running`](Self::before_running).
    #[must_use]
    pub fn rate_limited(wait: Option<Duration>) -> Self {
        Self::new(Class::RateLimited, "").with_retry_after(wait)
    }

    /// Too many calls at once, and how long to wait. Repeated only for a tool that may run
    /// twice, unless it failed [`before_running`](Self::before_running).
    #[must_use]
    pub fn at_capacity(wait: Option<Duration>) -> Self {
        Self::new(Class::AtCapacity, "").with_retry_after(wait)
    }

    /// The service is down for now, and how long to wait. Repeated only for a tool that may run
    /// twice, unless it failed [`before_running`](Self::before_running).
    #[must_use]
    pub fn unavailable(wait: Option<Duration>) -> Self {
        Self::new(Class::Unavailable, "").with_retry_after(wait)
    }

    /// The service behind the tool failed, after the tool ran.
    #[must_use]
    pub fn upstream(message: impl Into<Cow<'static, str>>) -> Self {
        Self::new(Class::Upstream, message)
    }

    /// The connection was lost; whether the tool ran is unknown.
    #[must_use]
    pub fn connection(message: impl Into<Cow<'static, str>>) -> Self {
        Self::new(Class::Connection, message)
    }

    /// No answer in time; whether the tool ran is unknown.
    #[must_use]
    pub fn timeout(message: impl Into<Cow<'static, str>>) -> Self {
        Self::new(Class::Timeout, message)
    }

    /// The server no longer knows the session; whether the tool ran is unknown.
    #[must_use]
    pub fn session_lost(message: impl Into<Cow<'static, str>>) -> Self {
        Self::new(Class::SessionLost, message)
    }

    /// The answer does not match its schema, or is not JSON.
    #[must_use]
    pub fn invalid_output(message: impl Into<Cow<'static, str>>) -> Self {
        Self::new(Class::InvalidOutput, message)
    }

    /// Rejects the request: the host gets this JSON-RPC error as it is.
    #[must_use]
    pub fn protocol(code: i32, message: impl Into<String>, data: Option<Value>) -> Self {
        Self::new(Class::Protocol, "").with_rpc_error(RpcError::new(code, message, data))
    }

    /// The caller no longer waits for the answer.
    #[must_use]
    pub fn cancelled(message: impl Into<Cow<'static, str>>) -> Self {
        Self::new(Class::Cancelled, message)
    }

    /// An unexpected error. Its text goes only to the log.
    #[must_use]
    pub fn crash(source: impl Into<super::BoxError>) -> Self {
        Self::new(Class::Crash, "").because(source)
    }

    /// Every later call would fail too, so the process has to end. The message goes to the caller and
    /// to stderr. A [`source`](Self::because) goes only to stderr and the log.
    #[must_use]
    pub fn fatal(message: impl Into<Cow<'static, str>>) -> Self {
        Self::new(Class::Fatal, message)
    }
}

/// Details of a failure.
impl Failure {
    /// Sets the cause. The log shows it; a model never reads it.
    #[must_use]
    pub fn because(mut self, source: impl Into<super::BoxError>) -> Self {
        let source: Arc<dyn Error + Send + Sync> = Arc::from(source.into());
        self.inner.source = Some(source);
        self
    }

    /// Takes the cause of another failure.
    pub(crate) fn caused_like(mut self, other: &Self) -> Self {
        self.inner.source.clone_from(&other.inner.source);
        self
    }

    /// Sets the tool to use instead. The model reads its name.
    #[must_use]
    pub fn instead(mut self, tool: impl Into<Cow<'static, str>>) -> Self {
        self.inner.alternative = Some(tool.into());
        self
    }

    /// Sets the server's own code.
    #[must_use]
    pub fn with_code(mut self, code: impl Into<Code>) -> Self {
        self.inner.code = Some(code.into());
        self
    }

    /// Sets the message for people and models.
    #[must_use]
    pub fn with_message(mut self, message: impl Into<Cow<'static, str>>) -> Self {
        self.inner.message = message.into();
        self
    }

    /// Sets how long the server asked to wait.
    #[must_use]
    pub fn with_retry_after(mut self, wait: impl Into<Option<Duration>>) -> Self {
        self.inner.retry_after = wait.into();
        self
    }

    /// Sets the HTTP status of the answer.
    #[must_use]
    pub fn with_status(mut self, status: u16) -> Self {
        self.inner.status = Some(status);
        self
    }

    /// Sets the JSON-RPC error that the server sent. The host gets it unchanged, for any class.
    ///
    /// If the failure has no message or code of its own, it takes those of the error.
    #[must_use]
    pub fn with_rpc_error(mut self, error: RpcError) -> Self {
        if self.inner.message.is_empty() {
            self.inner.message = error.message.clone().into();
        }
        if self.inner.code.is_none() {
            self.inner.code = Some(error.code.into());
        }
        self.inner.rpc_error = Some(error);
        self.set_own_error(true);
        self
    }

    /// Sets the flagged result that the tool returned. The caller gets it unchanged, for any class.
    #[must_use]
    pub fn with_result<R: Any + Send + Sync>(mut self, result: R) -> Self {
        self.inner.result = Some(Box::new(result));
        self
    }
}
