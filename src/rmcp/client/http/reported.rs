use super::{
    HttpError, HttpRefusal,
    error::{lost_answer, of_request, unreadable},
};
use crate::failure::{Delivery, Failure, Witness};
use ::http::StatusCode;
use ::rmcp::transport::streamable_http_client::StreamableHttpError;
use std::error::Error;

/// Names what a transport over HTTP reports: ours, and rmcp's own over reqwest.
pub(in crate::rmcp::client) fn classify(error: &(dyn Error + 'static)) -> Option<Failure> {
    if let Some(error) = error.downcast_ref::<StreamableHttpError<HttpError>>() {
        return Some(name(error, HttpError::failure));
    }
    let error = error.downcast_ref::<StreamableHttpError<reqwest::Error>>()?;
    Some(name(error, of_request))
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
        E::AuthRequired(_) => refused(Failure::unauthorized("the tool server wants credentials")),
        E::InsufficientScope(_) => refused(Failure::forbidden("the credentials do not suffice")),
        E::UnexpectedServerResponse(text) => match status_in(text) {
            Some(known) => status(known, None),
            None => lost_answer(),
        },
        E::Deserialize(error) if error.is_eof() => lost_answer(),
        E::Deserialize(_) => unreadable(),
        E::UnexpectedContentType(_) | E::ResponseBodyTooLarge { .. } => lost_answer(),
        E::ReservedHeaderConflict(_) => {
            Failure::disabled("a header of yours is one that the transport sets").not_sent()
        }
        E::ControlRequestTimeout => Failure::timeout(""),
        _ => Failure::connection("the connection to the tool server was lost"),
    }
}

fn status(status: u16, retry_after: Option<String>) -> Failure {
    match StatusCode::from_u16(status) {
        Ok(status) => HttpRefusal::new(status, retry_after).failure(),
        Err(_) => lost_answer(),
    }
}

/// rmcp's own client keeps some statuses in a text alone: `HTTP 408 Request Timeout: ...`.
fn status_in(text: &str) -> Option<u16> {
    text.strip_prefix("HTTP ")?.get(..3)?.parse().ok()
}

fn refused(failure: Failure) -> Failure {
    failure.reached(Delivery::Refused, Witness::Server)
}
