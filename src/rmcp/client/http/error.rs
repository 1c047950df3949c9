use crate::{
    classify::{ClassifyLayer, retry_after},
    failure::{Chain, Class, Code, Delivery, Failure, RpcError},
};
use ::http::StatusCode;
use ::rmcp::transport::streamable_http_client::StreamableHttpError;
use serde_json::Value;
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
    /// The body, if it was a JSON object.
    pub body: Option<Value>,
    /// The beginning of the body, if it was no JSON-RPC error.
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
    /// What it means for the call.
    pub(super) fn failure(&self) -> Failure {
        match self {
            Self::Request(error) => of_request(error),
            Self::Status(refusal) => refusal.failure(),
        }
    }
}

pub(super) fn of_request(error: &reqwest::Error) -> Failure {
    if error.is_builder() {
        return Failure::disabled("the http request cannot be made")
            .with_delivery(Delivery::NotSent);
    }
    if needs_tls(error) {
        return Failure::disabled(
            "the url needs TLS, which this build lacks: enable the feature `rmcp-client-https`",
        )
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

/// Whether the connector knows no `https`, as it says itself; there is no type for that.
fn needs_tls(error: &reqwest::Error) -> bool {
    const KNOWS_NO_OTHER: &str = "invalid URL, scheme is not http";
    error.is_connect()
        && Chain(error)
            .errors()
            .any(|cause| cause.to_string() == KNOWS_NO_OTHER)
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
        let header = self.retry_after.as_deref().and_then(retry_after::in_header);
        let body = self.body.as_ref().and_then(retry_after::in_json);
        let hint = header
            .max(body)
            .max(said.as_ref().and_then(Failure::retry_after));
        let by_status = self.by_status(said.as_ref().and_then(word));
        let failure = match (by_status, &said) {
            // The status says that it did not run, and a word in the body may say why.
            (Some((class, delivery)), Some(said)) => {
                let class = match word(said) {
                    Some(word) if class != Class::SessionLost => word,
                    _ => class,
                };
                Failure::new(class, "").with_delivery(delivery)
            }
            (Some((class, delivery)), None) => Failure::new(class, "").with_delivery(delivery),
            (None, Some(said)) if self.error.is_some() || word(said).is_some() => {
                Failure::new(said.class(), "").with_delivery(said.delivery())
            }
            (None, _) => self.by_range(),
        };
        let failure = match said {
            Some(said) => {
                let failure = failure.with_retryable(said.retryable());
                match said.code() {
                    Some(code @ Code::Text(_)) => failure.with_code(code.clone()),
                    _ => failure,
                }
            }
            None => failure,
        };
        let failure = match &self.error {
            // A lost session is the stack's to mend, and nothing that a host can use.
            Some(error) if failure.class() != Class::SessionLost => {
                failure.with_rpc_error(error.clone())
            }
            _ => failure,
        };
        let failure = match failure.message() {
            Some(_) => failure,
            None => failure.with_message(format!("the tool server answered {}", self.status)),
        };
        failure
            .with_status(self.status.as_u16())
            .with_retry_after(hint)
    }

    /// What the body means by itself. Any object may be an envelope, as the `data` of an error is.
    fn said(&self) -> Option<Failure> {
        let error = self.error.clone().or_else(|| {
            let body = self.body.clone()?;
            Some(RpcError::new(0, "", Some(body)))
        })?;
        Some(ClassifyLayer::new().name(error))
    }

    /// The statuses that are a word of the protocol, whatever the body says.
    fn by_status(&self, word: Option<Class>) -> Option<(Class, Delivery)> {
        if self.had_session && self.status.is_client_error() {
            if self.says_session_is_gone() {
                return Some((Class::SessionLost, Delivery::Refused));
            }
            // By the protocol this is a lost session too. But whoever answers without a word of it
            // may be a server that lost the session after the tool ran.
            if self.status == StatusCode::NOT_FOUND {
                return Some((Class::SessionLost, Delivery::Unknown));
            }
        }
        let class = match self.status.as_u16() {
            401 => Class::Unauthorized,
            403 => Class::Forbidden,
            429 => Class::RateLimited,
            // By RFC 9110 the request did not arrive. In the field it is also what a server answers
            // whose handler took too long; who says when to come again has thought of it.
            408 if self.retry_after.is_none() => {
                return Some((Class::Timeout, Delivery::Unknown));
            }
            408 => Class::Timeout,
            503 => {
                let is_said = self.retry_after.is_some() || self.error.is_some() || word.is_some();
                let delivery = if is_said {
                    Delivery::Refused
                } else {
                    Delivery::Unknown
                };
                return Some((Class::Unavailable, delivery));
            }
            300..=399 => return Some((Class::Disabled, Delivery::Unknown)),
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

    fn says_session_is_gone(&self) -> bool {
        let said = match &self.error {
            Some(error) => Some(&error.message),
            None => self.text.as_ref(),
        };
        said.is_some_and(|text| is_session_loss(text))
    }
}

/// The class that a word in the body names. A number never beats the status, for there is none that
/// means the same to all; nor does a word that knows less than it.
fn word(said: &Failure) -> Option<Class> {
    let is_word = matches!(said.code(), Some(Code::Text(_)));
    let is_vague = matches!(said.class(), Class::Protocol | Class::Upstream);
    (is_word && !is_vague).then_some(said.class())
}

/// What the SDKs and their examples answer to a session that they do not know, whatever they put in
/// front of it: TypeScript, Python, rmcp, Go, C#.
fn is_session_loss(text: &str) -> bool {
    const FRONTS: [&str; 2] = ["bad request: ", "not found: "];
    const TEXTS: [&str; 6] = [
        "session not found",
        "session terminated",
        "no valid session id provided",
        "invalid session id",
        "invalid or expired session id",
        "unknown session",
    ];
    let text = text.trim().trim_end_matches('.').to_ascii_lowercase();
    let text = FRONTS
        .iter()
        .find_map(|front| text.strip_prefix(front))
        .unwrap_or(&text);
    TEXTS.contains(&text)
}
