//! Dates as servers write them.
//!
//! HTTP has three forms (RFC 9110, section 5.6.7), and servers send many that are nearly one: with
//! `UTC` or an offset for `GMT`, without the weekday, with a day of one digit, in another case. All
//! are the same words in nearly the same order, so they are read word by word. RFC 3339 is one long
//! word, or two.

use chrono::{DateTime, NaiveDate, TimeDelta, Utc};

/// A point in time, or one so late that it does not matter when.
#[derive(Debug, PartialEq)]
pub(super) enum When {
    At(DateTime<Utc>),
    Never,
}

const WEEKDAYS: [&str; 7] = [
    "monday",
    "tuesday",
    "wednesday",
    "thursday",
    "friday",
    "saturday",
    "sunday",
];
const MONTHS: [&str; 12] = [
    "january",
    "february",
    "march",
    "april",
    "may",
    "june",
    "july",
    "august",
    "september",
    "october",
    "november",
    "december",
];
/// Zones by name, in hours (RFC 5322, section 4.3).
const ZONES: [(&str, i64); 12] = [
    ("gmt", 0),
    ("utc", 0),
    ("ut", 0),
    ("z", 0),
    ("est", -5),
    ("edt", -4),
    ("cst", -6),
    ("cdt", -5),
    ("mst", -7),
    ("mdt", -6),
    ("pst", -8),
    ("pdt", -7),
];

/// The last year that has four digits.
const LAST_YEAR: u64 = 9999;

#[derive(Default)]
struct Parts {
    day: Option<u32>,
    month: Option<u32>,
    year: Option<u64>,
    has_century: bool,
    // Since midnight.
    time: Option<TimeDelta>,
    // East of Greenwich.
    offset: Option<TimeDelta>,
}

/// Reads a date. A year of two digits is of this century, unless that is more than 50 years from now.
pub(super) fn read(text: &str, this_year: i32) -> Option<When> {
    // A comment at the end, as JavaScript writes it.
    let text = text.split('(').next()?.trim().to_ascii_lowercase();
    let mut parts = Parts::default();
    for word in text.split([' ', '\t', ',']).filter(|word| !word.is_empty()) {
        parts.add(word)?;
    }
    parts.when(this_year)
}

impl Parts {
    fn add(&mut self, word: &str) -> Option<()> {
        if let Some((date, time)) = word.split_once('t').filter(|(date, _)| is_iso(date)) {
            self.add_iso(date)?;
            return self.add_time(time);
        }
        if is_iso(word) {
            return self.add_iso(word);
        }
        if word.contains(':') && word.starts_with(|c: char| c.is_ascii_digit()) {
            return self.add_time(word);
        }
        if word.bytes().all(|byte| byte.is_ascii_digit()) {
            return self.add_number(word);
        }
        if place(&WEEKDAYS, word).is_some() {
            return Some(());
        }
        if let Some(month) = place(&MONTHS, word) {
            return set(&mut self.month, month);
        }
        // RFC 850: 06-nov-94.
        let mut pieces = word.split('-');
        if let (Some(day), Some(month), Some(year), None) =
            (pieces.next(), pieces.next(), pieces.next(), pieces.next())
            && let Some(month) = place(&MONTHS, month)
        {
            set(&mut self.month, month)?;
            self.add_number(day)?;
            return self.add_number(year);
        }
        self.add_zone(word)
    }

    /// `2026-11-30`.
    fn add_iso(&mut self, date: &str) -> Option<()> {
        let mut pieces = date.split('-');
        let (year, month, day) = (pieces.next()?, pieces.next()?, pieces.next()?);
        set(&mut self.month, month.parse().ok()?)?;
        set(&mut self.day, day.parse().ok()?)?;
        self.add_year(year)
    }

    /// The day comes before the year.
    fn add_number(&mut self, word: &str) -> Option<()> {
        if self.day.is_none() && word.len() <= 2 {
            return set(&mut self.day, word.parse().ok()?);
        }
        self.add_year(word)
    }

    fn add_year(&mut self, word: &str) -> Option<()> {
        let is_number = !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_digit());
        if !is_number || !matches!(word.len(), 2 | 4..) {
            return None;
        }
        self.has_century = word.len() > 2;
        // A longer one is no number here, but a year all the same.
        set(&mut self.year, word.parse().unwrap_or(u64::MAX))
    }

    /// `18:52:20`, with or without seconds, a fraction of them, and a zone.
    fn add_time(&mut self, word: &str) -> Option<()> {
        let end = word.find(|c: char| !c.is_ascii_digit() && c != ':' && c != '.');
        let (clock, zone) = word.split_at(end.unwrap_or(word.len()));
        let mut pieces = clock.split(':');
        let hours: i64 = pieces.next()?.parse().ok()?;
        let minutes: i64 = pieces.next()?.parse().ok()?;
        let (seconds, fraction) = match pieces.next() {
            Some(seconds) => seconds.split_once('.').unwrap_or((seconds, "")),
            None => ("0", ""),
        };
        let seconds: i64 = seconds.parse().ok()?;
        // A second of 60 is a leap second.
        let is_clock = hours < 24 && minutes < 60 && seconds <= 60 && pieces.next().is_none();
        if !is_clock || !fraction.bytes().all(|byte| byte.is_ascii_digit()) {
            return None;
        }
        let whole = TimeDelta::try_seconds(hours * 3600 + minutes * 60 + seconds)?;
        set(&mut self.time, whole + nanos(fraction)?)?;
        if zone.is_empty() {
            return Some(());
        }
        self.add_zone(zone)
    }

    /// `gmt`, `+0100`, `+01:00`, `+01`, `gmt+0100`. Said twice, as Go and JavaScript do, the first
    /// that is a number counts.
    fn add_zone(&mut self, word: &str) -> Option<()> {
        let start = word.find(['+', '-']).unwrap_or(word.len());
        let (name, number) = word.split_at(start);
        let by_name = match name {
            "" => 0,
            name => ZONES.iter().find(|(zone, _)| *zone == name)?.1 * 60,
        };
        let minutes = by_name
            + if number.is_empty() {
                0
            } else {
                minutes(number)?
            };
        if !number.is_empty() || self.offset.is_none() {
            self.offset = Some(TimeDelta::try_minutes(minutes)?);
        }
        Some(())
    }

    fn when(self, this_year: i32) -> Option<When> {
        let (day, month, time) = (self.day?, self.month?, self.time?);
        let year = self.year?;
        if year > LAST_YEAR {
            // A leap year, so that every date that there is exists.
            return NaiveDate::from_ymd_opt(2000, month, day).map(|_| When::Never);
        }
        let mut year = i32::try_from(year).ok()?;
        if !self.has_century {
            year += this_year / 100 * 100;
            // RFC 9110: more than 50 years from now is the past.
            if year > this_year + 50 {
                year -= 100;
            }
        }
        let midnight = NaiveDate::from_ymd_opt(year, month, day)?.and_hms_opt(0, 0, 0)?;
        let local = midnight.checked_add_signed(time)?;
        let utc = local.checked_sub_signed(self.offset.unwrap_or_default())?;
        Some(When::At(utc.and_utc()))
    }
}

/// A fraction of a second. Rounded up, as a wait is a floor.
fn nanos(fraction: &str) -> Option<TimeDelta> {
    let (kept, lost) = fraction.split_at(fraction.len().min(9));
    let more = i64::from(lost.bytes().any(|digit| digit != b'0'));
    let nanos: i64 = format!("{kept:0<9}").parse().ok()?;
    Some(TimeDelta::nanoseconds(nanos + more))
}

/// `2026-11-30`, with a year of any length from four.
fn is_iso(word: &str) -> bool {
    let mut pieces = word.split('-');
    let year = pieces.next().unwrap_or_default();
    let is_number = |piece: &str| piece.bytes().all(|byte| byte.is_ascii_digit());
    year.len() >= 4
        && is_number(year)
        && pieces.clone().count() == 2
        && pieces.all(|piece| matches!(piece.len(), 1 | 2) && is_number(piece))
}

/// `+0100`, `-01:00`, `+1`: minutes east of Greenwich.
fn minutes(number: &str) -> Option<i64> {
    let (sign, digits) = match number.split_at_checked(1)? {
        ("+", digits) => (1, digits),
        ("-", digits) => (-1, digits),
        _ => return None,
    };
    let digits = digits.replacen(':', "", 1);
    let is_number = digits.bytes().all(|byte| byte.is_ascii_digit());
    if !is_number || !matches!(digits.len(), 1..=4) {
        return None;
    }
    let number: i64 = digits.parse().ok()?;
    let (hours, minutes) = match digits.len() {
        1 | 2 => (number, 0),
        _ => (number / 100, number % 100),
    };
    (hours < 24 && minutes < 60).then_some(sign * (hours * 60 + minutes))
}

/// The number of a name, from 1: whole, or its first three letters or more.
fn place(names: &[&str], word: &str) -> Option<u32> {
    let word = word.trim_end_matches('.');
    let at = names
        .iter()
        .position(|name| word.len() >= 3 && name.starts_with(word))?;
    u32::try_from(at + 1).ok()
}

/// Each part stands once.
fn set<T>(part: &mut Option<T>, value: T) -> Option<()> {
    let is_first = part.is_none();
    *part = Some(value);
    is_first.then_some(())
}
