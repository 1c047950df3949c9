use crate::{
    classify::retry_after,
    failure::{Class, Failure, class_of_status},
};
use ::http::{HeaderMap, StatusCode, header::RETRY_AFTER};

impl Failure {
    /// What an HTTP API's answer to the tool means; nothing below 400.
    ///
    /// The [table](crate::convert#an-http-apis-answer) has the classes. A `Retry-After` is kept; of
    /// several, the longest. A status of 600 or more counts as one of 500, as RFC 9110 says.
    ///
    /// Whether the tool had an effect before it asked the API is yours to say: if it had none, and the
    /// API turned the request away, by [`before_running`](Self::before_running).
    #[must_use]
    pub fn from_status(status: StatusCode, headers: &HeaderMap) -> Option<Self> {
        let class = match status.as_u16() {
            ..400 => return None,
            number => class_of_status(number).unwrap_or(Class::Upstream),
        };
        let waits = headers.get_all(RETRY_AFTER).into_iter();
        let wait = retry_after::in_headers(waits.filter_map(|value| value.to_str().ok()));
        let message = format!("the service behind the tool answered {status}");
        let failure = Self::new(class, message).with_status(status.as_u16());
        Some(failure.with_retry_after(wait))
    }
}
