use super::Class;
#[cfg(feature = "http")]
use super::Failure;

/// What an HTTP status says of a call, where no code says it better.
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

/// What an HTTP API's answer says of the call of the tool that asked it. The answer is to another
/// request: whether the tool had an effect before is not in it.
#[cfg(feature = "http")]
pub(crate) fn of_status(status: u16, shown: &dyn std::fmt::Display) -> Failure {
    // As RFC 9110 says, a status that is not known counts as the first of its hundred.
    let class = class_of_status(status).unwrap_or(Class::Upstream);
    Failure::new(
        class,
        format!("the service behind the tool answered {shown}"),
    )
    .with_status(status)
    .may_have_run()
}
