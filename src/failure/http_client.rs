//! Errors of a tool's HTTP client, from a request to the service behind the tool.

use super::{BoxError, Failure, status::of_status};
use std::{error::Error, io};

/// The failure of the tool's call. `None` if the request could not be built, which is a crash.
pub(super) fn of_request(error: &reqwest::Error) -> Option<Failure> {
    if let Some(status) = error.status() {
        return Some(of_status(status.as_u16(), &status));
    }
    if error.is_builder() {
        return None;
    }
    let failure = if error.is_connect() {
        Failure::connection("the service behind the tool cannot be reached")
    } else if error.is_timeout() {
        Failure::timeout("the service behind the tool did not answer in time")
    } else if error.is_redirect() {
        Failure::upstream("the service behind the tool redirects without end")
    } else if is_unreadable(error) {
        Failure::invalid_output("the answer of the service behind the tool cannot be read")
    } else {
        Failure::connection("the connection to the service behind the tool was lost")
    };
    // The error is about the tool's own request, not about the call.
    Some(failure.may_have_run())
}

/// Whether a complete body could not be decoded. reqwest reports a truncated body as a decode error
/// too.
fn is_unreadable(error: &reqwest::Error) -> bool {
    use io::ErrorKind as E;
    let mut causes = std::iter::successors(error.source(), |&cause| cause.source());
    let is_of_reading = |cause: &(dyn Error + 'static)| {
        let io = cause.downcast_ref::<io::Error>();
        let is_invalid = |io: &io::Error| matches!(io.kind(), E::InvalidData | E::InvalidInput);
        cause.is::<serde_json::Error>() || io.is_some_and(is_invalid)
    };
    error.is_decode() && causes.any(is_of_reading)
}

/// The URL may hold a token.
pub(super) fn without_url(error: BoxError) -> BoxError {
    match error.downcast::<reqwest::Error>() {
        Ok(error) => error.without_url().into(),
        Err(error) => error,
    }
}
