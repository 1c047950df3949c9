use crate::failure::Failure;
use ::http::{HeaderMap, StatusCode};

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
