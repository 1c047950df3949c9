use super::Class;
#[cfg(feature = "http")]
use super::Failure;

/// The meaning of an HTTP status, if no code says it better.
pub(crate) fn class_of_status(status: u16) -> Option<Class> {
    Some(match status {
        401 => Class::Unauthorized,
        403 => Class::Forbidden,
        404 | 410 => Class::NotFound,
        408 => Class::Timeout,
        429 => Class::RateLimited,
        400..=499 => Class::InvalidInput,
        503 => Class::Unavailable,
        500..=599 => Class::Upstream,
        _ => return None,
    })
}

/// The meaning of an HTTP API's answer for the call of the tool that asked it. It answers another
/// request, so it does not say whether the tool had an effect before.
#[cfg(feature = "http")]
pub(crate) fn of_status(status: u16, shown: &dyn std::fmt::Display) -> Failure {
    // RFC 9110: an unknown status counts as the first of its hundred.
    let class = class_of_status(status).unwrap_or(Class::Upstream);
    Failure::new(
        class,
        format!("the service behind the tool answered {shown}"),
    )
    .with_status(status)
    .may_have_run()
}
