//! Zones of dates.

use super::numbers::is_digits;

/// Zones by name, in minutes east of Greenwich. Where a name means several, the westernmost: the
/// date is then never read as an earlier one.
const NAMES: &[(&str, i64)] = &[
    ("gmt", 0),
    ("utc", 0),
    ("ut", 0),
    ("z", 0),
    ("wet", 0),
    ("est", -5 * 60),
    ("edt", -4 * 60),
    ("cst", -6 * 60),
    ("cdt", -5 * 60),
    ("mst", -7 * 60),
    ("mdt", -6 * 60),
    ("pst", -8 * 60),
    ("pdt", -7 * 60),
    ("akst", -9 * 60),
    ("akdt", -8 * 60),
    ("hst", -10 * 60),
    ("cet", 60),
    ("cest", 2 * 60),
    ("eet", 2 * 60),
    ("eest", 3 * 60),
    ("west", 60),
    ("msk", 3 * 60),
    // Britain, and Bangladesh.
    ("bst", 60),
    // Ireland, Israel, and India.
    ("ist", 60),
    ("jst", 9 * 60),
    ("kst", 9 * 60),
    ("hkt", 8 * 60),
    ("sgt", 8 * 60),
    ("aest", 10 * 60),
    ("aedt", 11 * 60),
    ("nzst", 12 * 60),
    ("nzdt", 13 * 60),
];

/// The westernmost zone, for an unknown name.
pub(super) const WESTERNMOST: i64 = -12 * 60;

/// The reading of a time zone, the vaguest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Zone {
    Unknown,
    Named(i64),
    Number(i64),
}

impl Zone {
    /// `gmt`, `+0100`, `+01:00`, `+01`, `gmt+0100`, `europe/berlin`: in lower case.
    pub(super) fn read(word: &str) -> Option<Self> {
        let start = word.find(['+', '-']).unwrap_or(word.len());
        let (name, number) = word.split_at(start);
        let known = NAMES.iter().find(|(known, _)| *known == name);
        Some(match (name, known) {
            ("", _) => Self::Number(minutes(number)?),
            (_, Some((_, by_name))) if number.is_empty() => Self::Named(*by_name),
            (_, Some((_, by_name))) => Self::Number(by_name + minutes(number)?),
            (_, None) if is_name(word) => Self::Unknown,
            (_, None) => return None,
        })
    }

    pub(super) fn minutes(self) -> i64 {
        match self {
            Self::Unknown => WESTERNMOST,
            Self::Named(minutes) | Self::Number(minutes) => minutes,
        }
    }

    /// Of two, the one that says more; else the one that makes the date later.
    pub(super) fn and(self, other: Self) -> Option<Self> {
        match (self, other) {
            // Two unknown words are not a date.
            (Self::Unknown, Self::Unknown) => None,
            (Self::Named(one), Self::Named(other)) => Some(Self::Named(one.min(other))),
            (Self::Number(one), Self::Number(other)) => Some(Self::Number(one.min(other))),
            (one, other) => Some(one.max(other)),
        }
    }
}

/// Whether a word may be the name of a zone: an abbreviation, or one of the time zone database.
fn is_name(word: &str) -> bool {
    let is_of_database = word.contains('/') && word.len() <= 32;
    let is_letter = |c: char| c.is_ascii_alphabetic() || (is_of_database && "/_+-".contains(c));
    (is_of_database || word.len() <= 5)
        && word.starts_with(|c: char| c.is_ascii_alphabetic())
        && word
            .trim_end_matches(|c: char| c.is_ascii_digit())
            .chars()
            .all(is_letter)
        && (is_of_database || word.chars().all(is_letter))
}

/// `+0100`, `-01:00`, `+1`: minutes east of Greenwich.
fn minutes(number: &str) -> Option<i64> {
    let (sign, digits) = match number.split_at_checked(1)? {
        ("+", digits) => (1, digits),
        ("-", digits) => (-1, digits),
        _ => return None,
    };
    let digits = digits.replacen(':', "", 1);
    if !is_digits(&digits) || !matches!(digits.len(), 1..=4) {
        return None;
    }
    let number: i64 = digits.parse().ok()?;
    let (hours, minutes) = match digits.len() {
        1 | 2 => (number, 0),
        _ => (number / 100, number % 100),
    };
    (hours < 24 && minutes < 60).then_some(sign * (hours * 60 + minutes))
}
