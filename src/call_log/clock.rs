use chrono::{DateTime, SecondsFormat, Utc};

#[expect(
    clippy::disallowed_methods,
    reason = "a line says when it happened; durations are measured on the other clock"
)]
pub(super) fn now() -> DateTime<Utc> {
    std::time::SystemTime::now().into()
}

/// A time as a line has it.
pub(super) fn timestamp(at: DateTime<Utc>) -> String {
    at.to_rfc3339_opts(SecondsFormat::Millis, true)
}
