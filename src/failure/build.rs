//! How a failure is made.

use super::{Class, Code, Failure, RpcError, error::Inner, evidence::Evidence, signals::Signals};
use serde_json::Value;
use std::{any::Any, borrow::Cow, error::Error, sync::Arc, time::Duration};

/// Constructors, one for each thing that one says of a call.
impl Failure {
    /// A failure of any class, with the class's own [`Delivery`](super::Delivery): `Executed` where
    /// the class says that the tool ran, else `Unknown`.
    ///
    /// If the tool did nothing yet, say so by [`before_running`](Self::before_running).
    ///
    /// A blank message is replaced by a phrase of the class where it is shown.
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

    /// What the tool tried did not work, and the model should read why.
    #[must_use]
    pub fn tool(message: impl Into<Cow<'static, str>>) -> Self {
        Self::new(Class::Tool, message)
    }

    /// An argument is wrong: which one, and what was expected.
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

    /// There is no such thing. A missing resource becomes `-32602` with its URI.
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

    /// The other side refuses. See [`instead`](Self::instead) for naming a tool that may do.
    #[must_use]
    pub fn forbidden(message: impl Into<Cow<'static, str>>) -> Self {
        Self::new(Class::Forbidden, message)
    }

    /// The service is switched off for this account.
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

    /// The service is away for now, and how long to wait. Repeated only for a tool that may run
    /// twice, unless it failed [`before_running`](Self::before_running).
    #[must_use]
    pub fn unavailable(wait: Option<Duration>) -> Self {
        Self::new(Class::Unavailable, "").with_retry_after(wait)
    }

    /// What stands behind the tool failed, after the tool ran.
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

    /// The answer does not fit its schema, or is no JSON.
    #[must_use]
    pub fn invalid_output(message: impl Into<Cow<'static, str>>) -> Self {
        Self::new(Class::InvalidOutput, message)
    }

    /// The request itself is to be rejected: the host gets this JSON-RPC error as it is.
    #[must_use]
    pub fn protocol(code: i32, message: impl Into<String>, data: Option<Value>) -> Self {
        Self::new(Class::Protocol, "").with_rpc_error(RpcError::new(code, message, data))
    }

    /// Nobody waits for the answer any more.
    #[must_use]
    pub fn cancelled(message: impl Into<Cow<'static, str>>) -> Self {
        Self::new(Class::Cancelled, message)
    }

    /// An error that nobody foresaw. Its text goes to the log and nowhere else.
    #[must_use]
    pub fn crash(source: impl Into<super::BoxError>) -> Self {
        Self::new(Class::Crash, "").because(source)
    }

    /// Every later call would fail too: the process is to end. The message reaches the caller
    /// and stderr; a [`source`](Self::because) only stderr and the log.
    #[must_use]
    pub fn fatal(message: impl Into<Cow<'static, str>>) -> Self {
        Self::new(Class::Fatal, message)
    }
}

/// What else is known of it.
impl Failure {
    /// What caused it. Shown in the log, never to a model.
    #[must_use]
    pub fn because(mut self, source: impl Into<super::BoxError>) -> Self {
        let source: Arc<dyn Error + Send + Sync> = Arc::from(source.into());
        self.inner.source = Some(source);
        self
    }

    /// What caused another failure caused this one too.
    pub(crate) fn caused_like(mut self, other: &Self) -> Self {
        self.inner.source.clone_from(&other.inner.source);
        self
    }

    /// The tool to use instead; the model is told.
    #[must_use]
    pub fn instead(mut self, tool: impl Into<Cow<'static, str>>) -> Self {
        self.inner.alternative = Some(tool.into());
        self
    }

    /// The server's own code.
    #[must_use]
    pub fn with_code(mut self, code: impl Into<Code>) -> Self {
        self.inner.code = Some(code.into());
        self
    }

    /// The message for people and models.
    #[must_use]
    pub fn with_message(mut self, message: impl Into<Cow<'static, str>>) -> Self {
        self.inner.message = message.into();
        self
    }

    /// How long the server asked to wait.
    #[must_use]
    pub fn with_retry_after(mut self, wait: impl Into<Option<Duration>>) -> Self {
        self.inner.retry_after = wait.into();
        self
    }

    /// The HTTP status behind it.
    #[must_use]
    pub fn with_status(mut self, status: u16) -> Self {
        self.inner.status = Some(status);
        self
    }

    /// The JSON-RPC error that this was. It goes up as it is, whatever the class.
    ///
    /// Message and code become the failure's own where it has none.
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

    /// The flagged result that this was. It goes up as it is, whatever the class.
    #[must_use]
    pub fn with_result<R: Any + Send + Sync>(mut self, result: R) -> Self {
        self.inner.result = Some(Box::new(result));
        self
    }
}
