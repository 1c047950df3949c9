//! Answers of HTTP APIs.

use crate::{
    classify::retry_after,
    failure::{Failure, of_status},
};
use ::http::{HeaderMap, StatusCode, header::RETRY_AFTER};

impl Failure {
    /// The failure that an HTTP API's answer to the tool means. `None` below 400.
    ///
    /// The [table](crate::convert#an-http-apis-answer) has the classes. `Retry-After` is kept; of
    /// several, the longest. A status of 600 or more counts as 500, as RFC 9110 says.
    ///
    /// The delivery is [`Unknown`](crate::Delivery::Unknown) at every status, because the API answers
    /// a request of the tool. If the tool had no effect before, and the API refused the request, call
    /// [`before_running`](Self::before_running).
    #[must_use]
    pub fn from_status(status: StatusCode, headers: &HeaderMap) -> Option<Self> {
        if status.as_u16() < 400 {
            return None;
        }
        let waits = headers.get_all(RETRY_AFTER).into_iter();
        let wait = retry_after::in_headers(waits.filter_map(|value| value.to_str().ok()));
        Some(of_status(status.as_u16(), &status).with_retry_after(wait))
    }
}

/// Makes a [`Failure`] of an HTTP response with an error status.
///
/// For `http::Response`, and with the feature `reqwest` for `reqwest::Response`.
pub trait ResponseExt: Sized {
    /// The response, or [the failure](Failure::from_status) for its status, with its `Retry-After`.
    /// The body of a failure is not read.
    ///
    /// # Errors
    ///
    /// If the status is 400 or more.
    fn failure_for_status(self) -> Result<Self, Failure>;
}

fn check<R>(response: R, of: impl Fn(&R) -> (StatusCode, &HeaderMap)) -> Result<R, Failure> {
    let (status, headers) = of(&response);
    match Failure::from_status(status, headers) {
        Some(failure) => Err(failure),
        None => Ok(response),
    }
}

impl<B> ResponseExt for ::http::Response<B> {
    fn failure_for_status(self) -> Result<Self, Failure> {
        check(self, |response| (response.status(), response.headers()))
    }
}

#[cfg(feature = "reqwest")]
impl ResponseExt for reqwest::Response {
    fn failure_for_status(self) -> Result<Self, Failure> {
        check(self, |response| (response.status(), response.headers()))
    }
}
