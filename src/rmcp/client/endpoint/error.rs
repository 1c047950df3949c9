use super::{Challenge, session_loss};
use crate::{
    classify::{Session, name_rpc, retry_after},
    failure::{Chain, Class, Code, Delivery, Failure, RpcError, Witness, class_of_status, first},
};
use ::http::StatusCode;
use ::rmcp::transport::streamable_http_client::StreamableHttpError;
use serde_json::Value;
use std::time::Duration;
use thiserror::Error;

/// How much of a challenge is in a message, in bytes.
const TEXT: usize = 512;

/// The error of one HTTP request.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum HttpError {
    /// The request could not be made, or its answer could not be read.
    #[error("the http request failed")]
    Request(#[source] reqwest::Error),
    /// The server answered with an error status.
    #[error("http status {}", shown(.0.status))]
    Status(Box<HttpRefusal>),
}

/// An answer with an error status.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct HttpRefusal {
    /// The status.
    pub status: StatusCode,
    /// The `Retry-After` header, unchanged. Several headers are one list.
    pub retry_after: Option<String>,
    /// The `WWW-Authenticate` header: the credentials that the server asks for.
    pub www_authenticate: Option<String>,
    /// The JSON-RPC error of the body, if it has one.
    pub error: Option<RpcError>,
    /// The body, if it is a JSON object.
    pub body: Option<Value>,
    /// The beginning of the body, if it is not a JSON-RPC error.
    pub text: Option<String>,
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

impl HttpError {
    /// The meaning for the call.
    pub(super) fn failure(&self) -> Failure {
        match self {
            Self::Request(error) => of_request(error),
            Self::Status(refusal) => refusal.failure(),
        }
    }

    /// Whether the server wants other credentials.
    pub(super) fn is_challenge(&self) -> bool {
        match self {
            Self::Request(_) => false,
            Self::Status(refusal) => {
                let header = refusal.www_authenticate.as_deref();
                Challenge::new(refusal.status, header).is_some()
            }
        }
    }

    /// How long the server asks to wait.
    pub(super) fn wait(&self) -> Option<Duration> {
        self.failure().retry_after()
    }
}

fn shown(status: StatusCode) -> String {
    let number = status.as_u16();
    match status.canonical_reason() {
        Some(reason) => format!("{number} {reason}"),
        None => number.to_string(),
    }
}

pub(super) fn lost_answer() -> Failure {
    Failure::connection("the tool server's answer was lost")
}

pub(super) fn of_request(error: &reqwest::Error) -> Failure {
    if error.is_builder() {
        return Failure::disabled("the http request cannot be made").not_sent();
    }
    if needs_tls(error) {
        return Failure::disabled(
            "the url needs TLS, which this build lacks: enable the feature `rmcp-client-https`",
        )
        .not_sent();
    }
    if error.is_connect() {
        return Failure::connection("the tool server cannot be reached").not_sent();
    }
    if error.is_timeout() {
        return Failure::timeout("");
    }
    Failure::connection("the connection to the tool server was lost")
}

/// Whether the connector does not support `https`: it says so only in a text.
fn needs_tls(error: &reqwest::Error) -> bool {
    const KNOWS_NO_OTHER: &str = "invalid URL, scheme is not http";
    error.is_connect()
        && Chain(error)
            .errors()
            .any(|cause| cause.to_string() == KNOWS_NO_OTHER)
}

/// A model cannot answer a challenge: it is for the host.
pub(super) fn asking(failure: Failure, challenge: &Challenge) -> Failure {
    let failure = failure.for_host();
    let Some(told) = challenge.told() else {
        return failure;
    };
    let told = first(&told, TEXT);
    let message = format!("{failure}; it asks for other credentials: {told}");
    failure.with_message(message)
}

impl HttpRefusal {
    pub(super) fn new(status: StatusCode, retry_after: Option<String>) -> Self {
        Self {
            status,
            retry_after,
            www_authenticate: None,
            error: None,
            body: None,
            text: None,
            had_session: false,
        }
    }

    pub(super) fn failure(&self) -> Failure {
        let said = self.said();
        let named = said
            .as_ref()
            .filter(|said| !self.may_name_another_session(said));
        let (class, delivery) = self
            .by_status(named)
            .or_else(|| {
                let named = named?;
                let is_named = word(named).is_some() || self.error.is_some();
                is_named.then(|| (named.class(), named.delivery()))
            })
            .unwrap_or_else(|| (self.class(), Delivery::Unknown));
        // Status and body are the server's own, about this request.
        let speaker = if self.is_of_gateway() {
            Witness::Hearsay
        } else {
            Witness::Server
        };
        let mut failure = Failure::new(class, "").reached(delivery, speaker);
        if let Some(said) = &said {
            failure = failure.permitted(said.retryable(), speaker);
            if let Some(code @ Code::Text(_)) = said.code() {
                failure = failure.with_code(code.clone());
            }
        }
        // The stack replaces a lost session; the host cannot do anything about it.
        if let Some(error) = &self.error
            && class != Class::SessionLost
        {
            failure = failure.with_rpc_error(error.clone());
        }
        if failure.message().is_none() {
            let status = shown(self.status);
            failure = failure.with_message(format!("the tool server answered {status}"));
        }
        if !self.status.is_success() {
            failure = failure.with_status(self.status.as_u16());
        }
        let challenge = Challenge::new(self.status, self.www_authenticate.as_deref());
        let challenge = challenge.filter(|_| self.www_authenticate.is_some());
        if let Some(challenge) = challenge {
            failure = asking(failure, &challenge);
        }
        if self.may_mean_session() {
            failure.doubt_session();
        }
        if self.is_of_gateway() {
            failure = failure.of_gateway();
        }
        failure.with_retry_after(self.hint(said.as_ref()))
    }

    /// Whether a gateway speaks that got no answer from the server, and so does not know whether the call
    /// ran. It speaks no JSON-RPC. The numbers from 520 on are of public networks.
    fn is_of_gateway(&self) -> bool {
        let is_rpc = |body: &Value| body.get("jsonrpc").is_some();
        matches!(
            self.status.as_u16(),
            502 | 504 | 520..=527 | 530 | 598 | 599
        ) && !self.body.as_ref().is_some_and(is_rpc)
    }

    /// Whether the session may be lost, although nothing that is known says so. Errors of JSON-RPC itself
    /// are about the request, and so are some statuses. A server that does not expect an unknown session
    /// fails with a 500. With any other server error, the text of a lost session is needed.
    fn may_mean_session(&self) -> bool {
        let is_of_request = |error: &RpcError| matches!(error.code, -32700 | -32603..=-32601);
        let is_open = match self.status.as_u16() {
            401 | 403 | 408 | 413..=415 | 429 => false,
            400..=499 => !self.error.as_ref().is_some_and(is_of_request),
            500 => true,
            status => status > 500 && self.says_session_is_gone(),
        };
        self.had_session && is_open
    }

    /// The longest wait anywhere in the answer. By its proposal, -32023 has one that wins over the
    /// header.
    fn hint(&self, said: Option<&Failure>) -> Option<Duration> {
        let own = self.error.as_ref().and_then(retry_after::in_rate_limited);
        if own.is_some() {
            return own;
        }
        let header = self.retry_after.as_deref().and_then(retry_after::in_header);
        let body = self.body.as_ref().and_then(retry_after::in_json);
        header.max(body).max(said.and_then(Failure::retry_after))
    }

    /// The meaning of the body by itself. Any object may be an envelope, as the `data` of an error
    /// is.
    fn said(&self) -> Option<Failure> {
        let error = self.error.clone().or_else(|| {
            let body = self.body.clone()?;
            Some(RpcError::new(0, "", Some(body)))
        })?;
        let session = if self.had_session {
            Session::Untold
        } else {
            Session::None
        };
        Some(name_rpc(error, session))
    }

    /// Statuses that the protocol defines, for any body. A code in it may give the reason.
    fn by_status(&self, said: Option<&Failure>) -> Option<(Class, Delivery)> {
        if self.had_session && self.status.is_client_error() {
            if self.says_session_is_gone() {
                return Some((Class::SessionLost, Delivery::Refused));
            }
            // By the protocol, 404 is a lost session too, and 410 means that it was there before. But a
            // server that answers without a reason may have lost the session after the tool ran.
            if matches!(self.status, StatusCode::NOT_FOUND | StatusCode::GONE) {
                return Some((Class::SessionLost, Delivery::Unknown));
            }
        }
        let header = self.retry_after.as_deref();
        let has_time = header.and_then(retry_after::in_header).is_some();
        let is_refusal = match self.status.as_u16() {
            401 | 403 | 429 => true,
            // By RFC 9110 the request did not arrive. Some deployed servers answer so if their
            // handler took too long, but not with a time to come again.
            408 => has_time,
            // A proxy that lost the request answers so too.
            503 => has_time || said.is_some_and(|said| said.delivery().did_not_run()),
            300..=399 => false,
            _ => return None,
        };
        let delivery = if is_refusal {
            Delivery::Refused
        } else {
            Delivery::Unknown
        };
        Some((
            said.and_then(word).unwrap_or_else(|| self.class()),
            delivery,
        ))
    }

    /// By the status, if nothing says more. A redirect leads elsewhere.
    fn class(&self) -> Class {
        let other = if self.status.is_redirection() {
            Class::Disabled
        } else {
            Class::Upstream
        };
        class_of_status(self.status.as_u16()).unwrap_or(other)
    }

    /// Whether the text may be about the session of a tool with its own backend: with a server error,
    /// tools fail too.
    fn may_name_another_session(&self, said: &Failure) -> bool {
        self.status.is_server_error() && said.class() == Class::SessionLost
    }

    fn says_session_is_gone(&self) -> bool {
        match &self.error {
            Some(error) => session_loss::is_said(&error.message),
            None => session_loss::is_in(self.body.as_ref(), self.text.as_deref()),
        }
    }
}

/// The class of a word in the body. A number does not win over the status, since no number means the
/// same everywhere. Neither does a word that says less than the status.
fn word(said: &Failure) -> Option<Class> {
    let is_word = matches!(said.code(), Some(Code::Text(_)));
    let is_vague = matches!(said.class(), Class::Protocol | Class::Upstream);
    (is_word && !is_vague).then_some(said.class())
}
