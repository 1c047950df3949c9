use arrayvec::ArrayString;
use chrono::{DateTime, Datelike as _, Timelike as _, Utc};
use std::ops::Range;

#[expect(
    clippy::disallowed_methods,
    reason = "a line says when it happened; durations are measured on the other clock"
)]
pub(super) fn now() -> DateTime<Utc> {
    std::time::SystemTime::now().into()
}

/// A time as a line has it, without an allocation: `2026-04-01T12:00:00.000Z`.
pub(super) fn timestamp(at: DateTime<Utc>) -> ArrayString<24> {
    let mut text = *b"0000-00-00T00:00:00.000Z";
    let mut write = |place: Range<usize>, mut number: u32| {
        for digit in text[place].iter_mut().rev() {
            *digit += u8::try_from(number % 10).unwrap_or(0);
            number /= 10;
        }
    };
    let at = at.naive_utc();
    let year = u32::try_from(at.year()).unwrap_or(0);
    write(0..4, year);
    write(5..7, at.month());
    write(8..10, at.day());
    write(11..13, at.hour());
    write(14..16, at.minute());
    write(17..19, at.second());
    write(20..23, at.nanosecond() / 1_000_000);
    ArrayString::from_byte_string(&text).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use chrono::SecondsFormat;

    #[test]
    fn a_timestamp_is_rfc_3339_in_milliseconds() {
        for seconds in [
            0,
            951_782_399,
            1_709_164_800,
            1_775_044_799,
            253_402_300_799,
        ] {
            for nanos in [0, 999_999, 1_000_000, 45_600_000, 999_999_999] {
                let at = DateTime::from_timestamp(seconds, nanos).unwrap();
                let expected = at.to_rfc3339_opts(SecondsFormat::Millis, true);
                assert_eq!(*timestamp(at), expected);
            }
        }
    }
}
