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
