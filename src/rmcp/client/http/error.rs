use crate::{
    classify::{ClassifyLayer, retry_after},
    failure::{Class, Delivery, Failure, RpcError},
};
use ::http::StatusCode;
use ::rmcp::transport::streamable_http_client::StreamableHttpError;
use thiserror::Error;

/// What went wrong with one HTTP request.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum HttpError {
    /// The request could not be made, or its answer not be read.
    #[error("the http request failed")]
    Request(#[source] reqwest::Error),
    /// The server answered with a status that is no success.
    #[error("http status {}", .0.status)]
    Status(Box<HttpRefusal>),
    /// The answer is no JSON, or no message of MCP.
    #[error("the http answer is no mcp message")]
    Message(#[source] serde_json::Error),
    /// The answer is none to what was asked.
    #[error("the http answer is none to the request: {0}")]
    Answer(&'static str),
}

/// An answer with a status that is no success.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct HttpRefusal {
    /// The status.
    pub status: StatusCode,
    /// The `Retry-After` header, as it came.
    pub retry_after: Option<String>,
    /// The `WWW-Authenticate` header: what the server wants of who comes again.
    pub www_authenticate: Option<String>,
    /// The JSON-RPC error of the body, if it was one.
    pub error: Option<RpcError>,
    /// Whether the request belonged to a session.
    pub had_session: bool,
}

impl From<reqwest::Error> for HttpError {
    fn from(error: reqwest::Error) -> Self {
        // The URL may hold a token.
        Self::Request(error.without_url())
    }
}

impl From<HttpError> for StreamableHttpError<HttpError> {
    fn from(error: HttpError) -> Self {
        Self::Client(error)
    }
}

/// What it means for the call.
impl From<HttpError> for Failure {
    fn from(error: HttpError) -> Self {
        let failure = match &error {
            HttpError::Request(error) => of_request(error),
            HttpError::Status(refusal) => refusal.failure(),
            HttpError::Message(_) | HttpError::Answer(_) => {
                Self::connection("the tool server's answer was lost")
            }
        };
        failure.because(error)
    }
}

fn of_request(error: &reqwest::Error) -> Failure {
    if error.is_builder() {
        return Failure::disabled("the http request cannot be made")
            .with_delivery(Delivery::NotSent);
    }
    if error.is_connect() {
        return Failure::connection("the tool server cannot be reached")
            .with_delivery(Delivery::NotSent);
    }
    if error.is_timeout() {
        return Failure::timeout("");
    }
    Failure::connection("the connection to the tool server was lost")
}

impl HttpRefusal {
    fn failure(&self) -> Failure {
        let said = self.error.as_ref();
        let failure = said.map(|error| ClassifyLayer::new().name(error.clone()));
        let hint = self.retry_after.as_deref().and_then(retry_after::in_header);
        let hint = hint.max(failure.as_ref().and_then(Failure::retry_after));
        let mut failure = match (self.by_status(), failure) {
            // The status says that it did not run; what the error says is what is read of it.
            (Some((class, delivery)), Some(said)) => {
                let said_so = matches!(said.class(), Class::Protocol | Class::Upstream);
                let named = if said_so || self.is_about_session() {
                    Failure::new(class, said.message().unwrap_or_default().to_owned())
                        .with_retryable(said.retryable())
                } else {
                    said
                };
                named.with_delivery(delivery)
            }
            (Some((class, delivery)), None) => Failure::new(class, "").with_delivery(delivery),
            (None, Some(said)) => said,
            (None, None) => self.by_range(),
        };
        if failure.message().is_none() {
            failure = failure.with_message(format!(
                "the tool server answered http status {}",
                self.status
            ));
        }
        if let (Some(error), None) = (said, failure.rpc_error()) {
            // A session that is lost is the stack's to mend, and nothing that a host can use.
            if failure.class() != Class::SessionLost {
                failure = failure.with_rpc_error(error.clone());
            }
        }
        failure
            .with_status(self.status.as_u16())
            .with_retry_after(hint)
    }

    /// The statuses that are a word of the protocol, whatever the body says.
    fn by_status(&self) -> Option<(Class, Delivery)> {
        let class = match self.status.as_u16() {
            _ if self.is_about_session() => Class::SessionLost,
            401 => Class::Unauthorized,
            403 => Class::Forbidden,
            408 => Class::Timeout,
            429 => Class::RateLimited,
            503 => Class::Unavailable,
            _ => return None,
        };
        Some((class, Delivery::Refused))
    }

    fn by_range(&self) -> Failure {
        match self.status.as_u16() {
            404 | 410 => Failure::not_found("").with_delivery(Delivery::Refused),
            400..=499 => Failure::new(Class::InvalidInput, ""),
            _ => Failure::upstream("").with_delivery(Delivery::Unknown),
        }
    }

    /// By the protocol 404 says so; servers say it with other statuses too, in known words.
    fn is_about_session(&self) -> bool {
        if !self.had_session || !self.status.is_client_error() {
            return false;
        }
        self.status == StatusCode::NOT_FOUND
            || self
                .error
                .as_ref()
                .is_some_and(|error| says_session_is_gone(&error.message))
    }
}

/// What the SDKs and their examples answer to a session that they do not know.
fn says_session_is_gone(message: &str) -> bool {
    let message = message.strip_prefix("Bad Request: ").unwrap_or(message);
    let message = message.strip_prefix("Not Found: ").unwrap_or(message);
    matches!(
        message.trim_end_matches('.'),
        "Session not found"
            | "Session terminated"
            | "No valid session ID provided"
            | "Invalid session ID"
            | "Invalid or missing session ID"
            | "Server not initialized"
    )
}
