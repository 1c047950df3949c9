use super::{
    Challenge, HttpError, HttpRefusal,
    error::{asking, lost_answer, of_request},
};
use crate::{
    failure::{Chain, Delivery, Failure, Witness},
    rmcp::client::wire::Unreadable,
};
use ::http::StatusCode;
use ::rmcp::transport::streamable_http_client::{
    AuthRequiredError, InsufficientScopeError, StreamableHttpError,
};
use std::error::Error;

/// Classifies the errors of HTTP transports: ours, and rmcp's own over reqwest.
pub(in crate::rmcp::client) fn classify(error: &(dyn Error + 'static)) -> Option<Failure> {
    if let Some(error) = error.downcast_ref::<StreamableHttpError<HttpError>>() {
        return Some(name(error, HttpError::failure));
    }
    let error = error.downcast_ref::<StreamableHttpError<reqwest::Error>>()?;
    Some(name(error, of_request))
}

/// The error of the HTTP client, without rmcp's wrapper, which hides the source.
pub(in crate::rmcp::client) fn cause(
    error: Box<dyn Error + Send + Sync>,
) -> Box<dyn Error + Send + Sync> {
    let error = match error.downcast::<StreamableHttpError<HttpError>>() {
        Ok(error) => match *error {
            StreamableHttpError::Client(error) => return error.into(),
            error => return error.into(),
        },
        Err(error) => error,
    };
    match error.downcast::<StreamableHttpError<reqwest::Error>>() {
        Ok(error) => match *error {
            // The URL may hold a token.
            StreamableHttpError::Client(error) => error.without_url().into(),
            error => error.into(),
        },
        Err(error) => error,
    }
}

fn name<E: Error + Send + Sync + 'static>(
    error: &StreamableHttpError<E>,
    of_client: impl Fn(&E) -> Failure,
) -> Failure {
    use StreamableHttpError as E;
    match error {
        E::Client(error) => of_client(error),
        E::HttpStatus(error) => status(error.status, error.retry_after.clone()),
        // The body, which might say more, was not read.
        E::SessionExpired => Failure::session_lost(""),
        // HTTP 401 and 403.
        E::AuthRequired(error) => {
            let failure = refused(Failure::unauthorized("the tool server wants credentials"));
            asked(failure, error)
        }
        E::InsufficientScope(error) => {
            let failure = refused(Failure::forbidden("the credentials do not suffice"));
            asked(failure, error)
        }
        E::UnexpectedServerResponse(text) => match status_in(text) {
            Some(known) => status(known, None),
            None => lost_answer(),
        },
        E::Deserialize(error) if error.is_eof() => lost_answer(),
        // Complete, or longer than is read: it came.
        E::UnexpectedContentType(_) | E::Deserialize(_) | E::ResponseBodyTooLarge { .. } => {
            Unreadable::failure()
        }
        E::ReservedHeaderConflict(_) => {
            Failure::disabled("a header is reserved for the transport").not_sent()
        }
        E::ControlRequestTimeout => Failure::timeout(""),
        _ => Failure::connection("the connection to the tool server was lost"),
    }
}

fn asked(failure: Failure, error: &(dyn Error + 'static)) -> Failure {
    match Challenge::of_error(error) {
        Some(challenge) => asking(failure, &challenge),
        None => failure,
    }
}

fn status(status: u16, retry_after: Option<String>) -> Failure {
    match StatusCode::from_u16(status) {
        Ok(status) => HttpRefusal::new(status, retry_after).failure(),
        Err(_) => lost_answer(),
    }
}

/// rmcp's own client keeps some statuses only in a text: `HTTP 408 Request Timeout: ...`.
fn status_in(text: &str) -> Option<u16> {
    text.strip_prefix("HTTP ")?.get(..3)?.parse().ok()
}

fn refused(failure: Failure) -> Failure {
    failure.reached(Delivery::Refused, Witness::Server)
}

impl Challenge {
    /// The challenge that caused a failure of a call or a dial. `None` without one.
    #[must_use]
    pub fn of_failure(failure: &Failure) -> Option<Self> {
        let source = failure.source()?;
        Chain(source).errors().find_map(Self::of_error)
    }

    fn of_error(error: &(dyn Error + 'static)) -> Option<Self> {
        if let Some(HttpError::Status(refusal)) = error.downcast_ref() {
            return Self::new(refusal.status, refusal.www_authenticate.as_deref());
        }
        if let Some(error) = error.downcast_ref::<AuthRequiredError>() {
            return Self::new(
                StatusCode::UNAUTHORIZED,
                Some(&error.www_authenticate_header),
            );
        }
        let error = error.downcast_ref::<InsufficientScopeError>()?;
        Self::new(StatusCode::FORBIDDEN, Some(&error.www_authenticate_header))
    }
}
