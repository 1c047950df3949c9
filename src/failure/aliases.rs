use super::Class;

/// Codes of other public servers, and what they mean here. What they promise of the call is not
/// documented: see [`REFUSALS`].
pub(super) const ALIASES: &[(&str, Class)] = &[
    ("too_many_requests", Class::RateLimited),
    ("rate_limit_error", Class::RateLimited),
    ("rate_limit_exceeded", Class::RateLimited),
    ("throttling_exception", Class::RateLimited),
    ("quota_exceeded", Class::RateLimited),
    ("resource_exhausted", Class::RateLimited),
    ("overloaded", Class::AtCapacity),
    ("unavailable", Class::Unavailable),
    ("upstream_unavailable", Class::Upstream),
    ("timeout", Class::Timeout),
    ("timeout_error", Class::Timeout),
    ("tool_timeout", Class::Timeout),
    ("upstream_timeout", Class::Timeout),
    ("invalid_input", Class::InvalidInput),
    ("validation_error", Class::InvalidInput),
    ("unauthorized", Class::Unauthorized),
    ("authentication_error", Class::Unauthorized),
    ("authorization_error", Class::Forbidden),
    ("internal", Class::Crash),
    ("internal_error", Class::Crash),
];

/// Those among them that can only mean that the call was turned away before it ran.
pub(super) const REFUSALS: &[&str] = &[
    "too_many_requests",
    "rate_limit_error",
    "rate_limit_exceeded",
    "throttling_exception",
];
