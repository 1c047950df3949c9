//! Dates as servers write them.
//!
//! HTTP has three forms (RFC 9110, section 5.6.7). Servers send many that are close to one: with
//! `UTC` or an offset in place of `GMT`, without the weekday, with a day of one digit, in another
//! case. All have the same words in nearly the same order, so they are read word by word. RFC 3339 is
//! one long word, or two.
//!
//! If a date has several meanings, the last one counts, because a wait is a floor.

use super::{
    numbers::{is_digits, is_iso, iso_pieces, numbers},
    zone::{WESTERNMOST, Zone},
};
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
    is_afternoon: Option<bool>,
    zone: Option<Zone>,
}

/// Reads a date. A year of two digits is of this century, unless that is more than 50 years from now.
///
/// Without a zone it is of UTC, as HTTP has it; a day without a time or a zone begins in the
/// westernmost one.
pub(super) fn read(text: &str, this_year: i32) -> Option<When> {
    let text = with_points(&text.trim().to_ascii_lowercase());
    // The zone's name after its offset: `+01:00[Europe/Berlin]`.
    let (text, zone) = match text.strip_suffix(']').and_then(|text| text.split_once('[')) {
        Some((text, zone)) => (text, zone),
        None => (&*text, ""),
    };
    let mut parts = Parts::default();
    let words = text.split(|c: char| c.is_whitespace() || c == ',');
    for word in words.chain([zone]).filter(|word| !word.is_empty()) {
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
        if is_iso(word) && !is_digits(word) {
            return self.add_iso(word);
        }
        if word.contains(':') && word.starts_with(|c: char| c.is_ascii_digit()) {
            return self.add_time(word);
        }
        match word {
            "at" => return Some(()),
            "am" | "a.m." => return set(&mut self.is_afternoon, false),
            "pm" | "p.m." => return set(&mut self.is_afternoon, true),
            // Go's monotonic clock: `m=+0.000123`.
            _ if word.starts_with("m=") => return Some(()),
            _ => {}
        }
        if is_digits(word) {
            return self.add_number(word);
        }
        if place(&WEEKDAYS, word).is_some() {
            return Some(());
        }
        if let Some(month) = place(&MONTHS, word) {
            return set(&mut self.month, month);
        }
        // `30.`, `30th`.
        let day = [".", "st", "nd", "rd", "th"];
        let day = day.iter().find_map(|end| word.strip_suffix(end));
        if let Some(day) = day.filter(|day| matches!(day.len(), 1 | 2) && is_digits(day)) {
            return set(&mut self.day, day.parse().ok()?);
        }
        if let Some((one, other, year)) = numbers(word) {
            // The day or the month is first. The later date is the one with the larger month.
            let (small, large) = (one.min(other), one.max(other));
            let (day, month) = if large > 12 {
                (large, small)
            } else {
                (small, large)
            };
            set(&mut self.day, day)?;
            set(&mut self.month, month)?;
            return self.add_year(year);
        }
        // RFC 850: 06-nov-94.
        let mut pieces = word.split(['-', '/']);
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

    /// `2026-11-30`, `2026/11/30`, `20261130`.
    fn add_iso(&mut self, date: &str) -> Option<()> {
        let (year, month, day) = iso_pieces(date)?;
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
        if !is_digits(word) || !matches!(word.len(), 2 | 4..) {
            return None;
        }
        self.has_century = word.len() > 2;
        // A longer year does not fit a number here, but is a year.
        set(&mut self.year, word.parse().unwrap_or(u64::MAX))
    }

    /// `18:52:20`, with or without seconds, a fraction of them, and a zone; also without colons.
    fn add_time(&mut self, word: &str) -> Option<()> {
        let end = word.find(|c: char| !c.is_ascii_digit() && c != ':' && c != '.');
        let (clock, rest) = word.split_at(end.unwrap_or(word.len()));
        let (clock, fraction) = clock.split_once('.').unwrap_or((clock, ""));
        let mut pieces: Vec<&str> = clock.split(':').collect();
        if let [digits] = pieces[..] {
            pieces = match digits.len() {
                2 => vec![digits],
                4 => vec![&digits[..2], &digits[2..]],
                6 => vec![&digits[..2], &digits[2..4], &digits[4..]],
                _ => return None,
            };
        }
        let mut pieces = pieces.into_iter();
        let hours: i64 = pieces.next()?.parse().ok()?;
        let minutes: i64 = pieces.next().unwrap_or("0").parse().ok()?;
        let seconds: i64 = pieces.next().unwrap_or("0").parse().ok()?;
        // A second of 60 is a leap second, and 24:00 the end of a day.
        let is_clock = hours < 24 && minutes < 60 && seconds <= 60;
        let is_midnight = hours == 24 && minutes == 0 && seconds == 0;
        if !(is_clock || is_midnight) || pieces.next().is_some() || !is_digits(fraction) {
            return None;
        }
        let whole = TimeDelta::try_seconds(hours * 3600 + minutes * 60 + seconds)?;
        set(&mut self.time, whole + nanos(fraction)?)?;
        match rest {
            "" => Some(()),
            "am" | "pm" => self.add(rest),
            zone => self.add_zone(zone),
        }
    }

    /// A zone follows the time. Go and JavaScript write the zone twice. The number counts.
    fn add_zone(&mut self, word: &str) -> Option<()> {
        self.time?;
        let zone = Zone::read(word)?;
        self.zone = Some(match self.zone {
            Some(before) => before.and(zone)?,
            None => zone,
        });
        Some(())
    }

    fn when(self, this_year: i32) -> Option<When> {
        let (day, month, year) = (self.day?, self.month?, self.year?);
        let (time, zone) = match self.time {
            Some(time) => (time, self.zone.map_or(0, Zone::minutes)),
            None if self.has_century => (TimeDelta::zero(), WESTERNMOST),
            None => return None,
        };
        let time = on_the_clock(time, self.is_afternoon)?;
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
        let utc = local.checked_sub_signed(TimeDelta::try_minutes(zone)?)?;
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

/// The time of a clock of twelve hours. One beyond the twelfth is of a clock of twenty-four.
fn on_the_clock(time: TimeDelta, is_afternoon: Option<bool>) -> Option<TimeDelta> {
    let hours = match (is_afternoon, time.num_hours()) {
        (Some(false), 12) => -12,
        (Some(true), 0..12) => 12,
        _ => 0,
    };
    time.checked_add(&TimeDelta::try_hours(hours)?)
}

/// With a point for the comma before a fraction of a second: `18:52:20,5`.
fn with_points(text: &str) -> String {
    let is_digit = |byte: Option<&u8>| byte.is_some_and(u8::is_ascii_digit);
    let bytes = text.as_bytes();
    let mut is_clock = false;
    let chars = text.char_indices().map(|(at, c)| {
        is_clock = (is_clock || c == ':') && !c.is_whitespace();
        let is_inside = || is_digit(bytes.get(at + 1)) && is_digit(bytes.get(at.wrapping_sub(1)));
        match c {
            ',' if is_clock && is_inside() => '.',
            // The minus sign.
            '\u{2212}' => '-',
            c => c,
        }
    });
    chars.collect()
}

/// The number of a name, from 1: whole, or its first three letters or more.
fn place(names: &[&str], word: &str) -> Option<u32> {
    let word = word.trim_end_matches('.');
    let at = names
        .iter()
        .position(|name| word.len() >= 3 && name.starts_with(word))?;
    u32::try_from(at + 1).ok()
}

/// Each part occurs once.
fn set<T>(part: &mut Option<T>, value: T) -> Option<()> {
    let is_first = part.is_none();
    *part = Some(value);
    is_first.then_some(())
}
