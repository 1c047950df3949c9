use super::Class;
#[cfg(feature = "http")]
use super::Failure;

/// The class of an HTTP status, if there is no better code.
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

/// The failure of a tool's call, from the answer of an HTTP API that the tool used. That answer is
/// about the tool's own request, so it does not show whether the tool had an effect before.
#[cfg(feature = "http")]
pub(crate) fn of_status(status: u16, shown: &dyn std::fmt::Display) -> Failure {
    // RFC 9110: treat an unknown status as the `x00` of its class.
    let class = class_of_status(status).unwrap_or(Class::Upstream);
    Failure::new(
        class,
        format!("the service behind the tool answered {shown}"),
    )
    .with_status(status)
    .may_have_run()
}
