use super::Class;

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
